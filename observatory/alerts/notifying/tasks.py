"""Celery tasks that send notifications. Each channel has a task of its own, so that a slow one delays no
other."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from observatory.alerts.notifying import delivery, reminders

EXPIRES = 10
"""seconds; a task that waited for longer is created again by the next round"""


@shared_task  # type: ignore[untyped-decorator]
def deliver() -> None:
    """Starts a delivery for each channel with due notifications."""
    for channel in delivery.due_channels(now()):
        deliver_to.apply_async((channel,), expires=EXPIRES)


@shared_task  # type: ignore[untyped-decorator]
def deliver_to(channel: int) -> None:
    delivery.deliver_to(channel, now())


@shared_task  # type: ignore[untyped-decorator]
def repeat() -> None:
    """Creates reminders and starts refreshes; runs every minute."""
    reminders.remind(now())
    for channel in reminders.channels_to_refresh():
        refresh.apply_async((channel,), expires=EXPIRES)


@shared_task  # type: ignore[untyped-decorator]
def refresh(channel: int) -> None:
    reminders.refresh(channel, now())
