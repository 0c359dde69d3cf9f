"""Acknowledging alerts."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.timezone import now

from observatory.alerts.models import Alert

MAX_NOTE = 1000


def acknowledge(alert: Alert, user: AbstractBaseUser, note: str) -> None:
    """Makes `user` the assignee and ends reminders. A new note replaces the old one. Permissions aren't
    checked."""
    alert.acknowledged = now()
    alert.acknowledged_by_id = user.pk
    alert.acknowledgement = note.strip()[:MAX_NOTE]
    alert.save(update_fields=["acknowledged", "acknowledged_by", "acknowledgement"])
