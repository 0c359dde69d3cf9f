"""Deletions that somebody asked for: their progress, and afterwards the record of who deleted what."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet

from observatory.clusters.background_work import OPEN, BackgroundWork


class Deletion(BackgroundWork):
    """One deletion. It stays as a record; that of a person has no name when it is done."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    class Door(models.TextChoices):
        PAGE = "page", "page"
        ADMIN = "admin", "admin"
        API = "api", "API"
        COMMAND = "command", "command line"

    kind = models.CharField(max_length=20, help_text="project, cluster, rule, channel or person.")
    subject = models.IntegerField(help_text="The number of what is deleted. It is never used again.")
    name = models.CharField(max_length=200, blank=True)
    door = models.CharField("asked on", max_length=10, choices=Door.choices)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    amounts = models.JSONField(default=list, help_text="What was deleted so far: noun, count, bytes.")
    message = models.CharField(max_length=1000, blank=True, help_text="Why it failed.")
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        app_label = "clusters"
        ordering = ["-created", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(state__in=["waiting", "running"]),
                name="one_open_deletion_a_subject",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.subject}"


def being_deleted(kind: str) -> QuerySet[Deletion, Any]:
    """The numbers of what is being deleted, for a subquery: nobody sees it any more."""
    return Deletion.objects.filter(kind=kind, state__in=OPEN).order_by().values("subject")
