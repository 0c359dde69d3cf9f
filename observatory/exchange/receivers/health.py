"""The health of receivers of runs, for `doctor` and Observatory's own /metrics."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Count, Q
from django.utils.timezone import now

from observatory.exchange.models import Receiver, RunDelivery

RECENT = timedelta(hours=1)
FAILED_ATTEMPTS = 2
"""failed attempts after which a receiver counts as failing"""
State = RunDelivery.State


def failing_receivers() -> list[tuple[Receiver, str]]:
    """Receivers with runs that couldn't be sent and none that was since, each with its newest error."""
    waits = Q(state=State.DUE, attempts__gte=FAILED_ATTEMPTS)
    failed_now = Q(state=State.FAILED, due__gt=now() - RECENT)
    found = []
    for receiver in Receiver.objects.filter(enabled=True):
        failed = receiver.deliveries.filter(waits | failed_now).order_by("-due").first()
        if failed is None:
            continue
        if not receiver.deliveries.filter(state=State.SENT, sent__gt=failed.created).exists():
            found.append((receiver, failed.last_error))
    return found


def sent_run_counts() -> dict[str, int]:
    """By state."""
    counted = RunDelivery.objects.order_by().values("state").annotate(count=Count("pk"))
    return dict.fromkeys(State.values, 0) | dict(counted.values_list("state", "count"))
