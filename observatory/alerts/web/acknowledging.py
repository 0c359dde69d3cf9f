"""That somebody looks after an alert: who, since when, and what they say of it."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.utils.timezone import now

from observatory.alerts.models import Alert

LONGEST_NOTE = 1000


def acknowledge(alert: Alert, user: AbstractBaseUser, note: str) -> None:
    """Nobody is reminded of it any more; a newer note replaces the older. The caller asks if `user` may."""
    alert.acknowledged = now()
    alert.acknowledged_by_id = user.pk
    alert.acknowledgement = note.strip()[:LONGEST_NOTE]
    alert.save(update_fields=["acknowledged", "acknowledged_by", "acknowledgement"])


def withdraw(alert: Alert) -> None:
    """Nobody looks after it any more."""
    alert.acknowledged = alert.acknowledged_by = None
    alert.acknowledgement = ""
    alert.save(update_fields=["acknowledged", "acknowledged_by", "acknowledgement"])
