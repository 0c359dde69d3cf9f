"""Who belongs to a project: its members, the roles that groups give, invitations."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.timezone import now


class Membership(models.Model):
    """A user's role in a project."""

    class Role(models.TextChoices):
        VIEWER = "viewer", "Viewer: reads everything"
        EDITOR = "editor", "Editor: also changes targets (which can reach private networks), runs and tokens"
        OWNER = "owner", "Owner: also manages members, settings, alert rules and channels"

    project = models.ForeignKey("clusters.Project", models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    by_groups = models.BooleanField(
        default=False, help_text="Given by the user's groups: each sign-in sets or removes it."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership_a_project")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"


class GroupRole(models.Model):
    """The role that a group of a proxy or single sign-on gives in a project. groups.py reads it."""

    group = models.CharField(max_length=200, help_text="Its name as the proxy or the issuer sends it.")
    project = models.ForeignKey("clusters.Project", models.CASCADE, related_name="group_roles")
    role = models.CharField(max_length=10, choices=Membership.Role.choices, default=Membership.Role.VIEWER)

    class Meta:
        ordering = ["group", "project"]
        constraints = [models.UniqueConstraint(fields=["group", "project"], name="one_role_a_group")]

    def __str__(self) -> str:
        return f"{self.group} in {self.project}"


class Invitation(models.Model):
    """A link by which people join a project. invitations.py makes it."""

    project = models.ForeignKey("clusters.Project", models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role.choices, default=Membership.Role.VIEWER)
    note = models.CharField(
        "for", max_length=200, blank=True, help_text="A name, an e-mail address. Only this list shows it."
    )
    uses = models.PositiveSmallIntegerField(
        "people",
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="How many can join with the link.",
    )
    used = models.PositiveSmallIntegerField(default=0, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, editable=False, related_name="invitations"
    )
    expires = models.DateTimeField(editable=False)
    revoked = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.role} of {self.project}"

    @property
    def is_open(self) -> bool:
        return self.revoked is None and self.used < self.uses and self.expires > now()
