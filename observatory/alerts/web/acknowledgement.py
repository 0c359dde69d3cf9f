"""Acknowledging alerts."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.utils.timezone import now

from observatory.alerts.models import Alert

MAX_NOTE = 1000


def acknowledge(alert: Alert, user: AbstractBaseUser, note: str) -> None:
    """Makes `user` the assignee and ends reminders. A new note replaces the old one. Permissions aren't
    checked."""
    acknowledge_all(Alert.objects.filter(pk=alert.pk), user, note)
    alert.refresh_from_db(fields=["acknowledged", "acknowledged_by", "acknowledgement"])


def acknowledge_all(alerts: QuerySet[Alert], user: AbstractBaseUser, note: str) -> int:
    """As `acknowledge`, of all alerts; returns their number."""
    return alerts.update(acknowledged=now(), acknowledged_by=user.pk, acknowledgement=note.strip()[:MAX_NOTE])
