"""An entry of the audit log. Triggers of store/audit/ add most of them; nobody changes or deletes one."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now


class AuditEntry(models.Model):
    """Who did what, when, from where. It refers to no rows: those can go, the entry stays."""

    class ActorKind(models.TextChoices):
        PERSON = "person", "person"
        TOKEN = "token", "access token"
        COMMAND = "command", "command line"
        SYSTEM = "system", "Observatory itself"
        UNKNOWN = "unknown", "nobody signed in"

    class Action(models.TextChoices):
        MAKE = "make", "made"
        CHANGE = "change", "changed"
        REVOKE = "revoke", "revoked"
        DELETE = "delete", "deleted"
        SIGN_IN = "sign-in", "signed in"
        SIGN_OUT = "sign-out", "signed out"
        SIGN_IN_FAILED = "sign-in-failed", "failed to sign in"
        DOWNLOAD = "download", "downloaded"
        QUERY = "query", "queried"

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_name = models.CharField(max_length=200, blank=True)
    actor_id = models.IntegerField(null=True, help_text="The number of the account. It is never used again.")
    token = models.CharField(max_length=200, blank=True)
    address = models.CharField(max_length=100, blank=True)
    door = models.CharField(max_length=20, blank=True)
    action = models.CharField(max_length=20, choices=Action.choices)
    kind = models.CharField(max_length=100, help_text="What it is about: ingest token, rule.")
    subject_id = models.CharField(max_length=200, blank=True)
    subject = models.CharField(max_length=300, blank=True, help_text="Its name at that time.")
    person_id = models.IntegerField(null=True, help_text="The account that it is about.")
    projects = ArrayField(models.IntegerField(), default=list)
    changes = models.JSONField(default=dict, help_text="Values before and after, by field.")
    rows = models.BigIntegerField(default=1, help_text="More than one: that many were changed at once.")

    class Meta:
        app_label = "clusters"
        ordering = ["-id"]
        indexes = [
            GinIndex(fields=["projects"], name="audit_projects"),
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["actor_id"], name="audit_actor"),
            models.Index(fields=["person_id"], name="audit_person"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.get_action_display()} {self.kind} {self.subject}"
