"""Tokens: of agents, with the refusals of their requests, and of people's programs."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.timezone import now

from observatory.clusters.limits.room import require_room

MOST_INGEST_TOKENS = 1_000
"""of a project, that are not revoked"""


class IngestToken(models.Model):
    """Lets agents send records to its project. tokens/ingest_tokens.py creates them."""

    project = models.ForeignKey("clusters.Project", models.CASCADE, related_name="ingest_tokens")
    name = models.CharField(max_length=100, help_text="Where it is used: “nightly ETL”.")
    prefix = models.CharField(max_length=20, editable=False, help_text="First characters of the token.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False
    )
    last_used = models.DateTimeField(null=True, editable=False)
    revoked = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def clean(self) -> None:
        """Raises ValidationError if its project has too many."""
        valid = IngestToken.objects.filter(project=self.project_id, revoked=None)
        require_room(valid, MOST_INGEST_TOKENS, "The project", "tokens", "Revoke")


class IngestRefusal(models.Model):
    """The newest refused requests of agents, by token and reason. ingest_refusals.py records them."""

    class Reason(models.TextChoices):
        UNKNOWN = "unknown-token", "the token is unknown"
        REVOKED = "revoked-token", "the token is revoked"
        BATCH = "batch", "the batch cannot be read"

    token = models.ForeignKey(
        IngestToken, models.CASCADE, null=True, related_name="refusals", help_text="Null: unknown."
    )
    reason = models.CharField(max_length=20, choices=Reason.choices)
    detail = models.CharField(max_length=300, help_text="The answer to the agent.")
    address = models.CharField(max_length=100, help_text="Of the agent's scheduler, or of a proxy.")
    last = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "reason"], name="one_refusal_a_token", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.detail if self.reason == self.Reason.BATCH else str(self.get_reason_display())


class AccessToken(models.Model):
    """Lets a program read what its user sees, and change what its scopes name. tokens/access_tokens.py
    creates them."""

    class Scope(models.TextChoices):
        TARGETS = "targets", "targets (add, change, remove)"
        RUNS = "runs", "runs (cut, name, tag, pin, notes)"
        EXPORTS = "exports", "exports (start)"
        MEMBERS = "members", "members (invite)"
        DELETIONS = "deletions", "deletions (projects, clusters, rules, channels, people)"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=100, help_text="The program that uses it: “my notebook”.")
    scopes = models.JSONField(
        default=list, editable=False, help_text="Scopes: what it may change besides reading."
    )
    prefix = models.CharField(max_length=20, editable=False, help_text="First characters of the token.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, editable=False)
    revoked = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def may(self) -> str:
        """What it may do, for people: “read, targets, runs”."""
        return ", ".join(["read", *self.scopes])

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= now()
