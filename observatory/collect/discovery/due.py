"""Finds the discoveries whose interval has passed, and brings their targets up to date."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from observatory.clusters.models import Discovery
from observatory.collect.discovery.applying import apply
from observatory.collect.discovery.asking import ask_all

TOLERANCE = 1.0
"""Seconds that a discovery may be asked early: Celery, which looks every 5 s, is not exact."""


def look_at_due() -> None:
    """Asks all discoveries that are due, and stores the answers."""
    due = claim_due()
    for discovery, answer in ask_all(due) if due else ():
        apply(discovery, answer)


def claim_due() -> list[Discovery]:
    """The discoveries that are due, each for one caller: another process doesn't ask them now."""
    now = timezone.now()
    enabled = Discovery.objects.filter(enabled=True)
    due = [
        discovery
        for discovery in enabled
        if discovery.looked is None or now - discovery.looked >= interval_of(discovery)
    ]
    return [
        discovery
        for discovery in due
        if enabled.filter(pk=discovery.pk, looked=discovery.looked).update(looked=now)
    ]


def interval_of(discovery: Discovery) -> timedelta:
    return timedelta(seconds=discovery.interval - TOLERANCE)
