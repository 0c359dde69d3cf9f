"""What Celery does for notifying. Each channel is a task of its own: one that hangs holds up no other."""

from __future__ import annotations

from celery import shared_task
from django.utils.timezone import now

from observatory.alerts.notifying import delivery, reminders

EXPIRES = 10
"""seconds: a task that had to wait for longer is made anew"""


@shared_task  # type: ignore[untyped-decorator]
def deliver() -> None:
    """Has told what is due."""
    for channel in delivery.due_channels(now()):
        deliver_to.apply_async((channel,), expires=EXPIRES)


@shared_task  # type: ignore[untyped-decorator]
def deliver_to(channel: int) -> None:
    delivery.deliver_to(channel, now())


@shared_task  # type: ignore[untyped-decorator]
def repeat() -> None:
    """Each minute: reminds, and has Alertmanagers told again what fires."""
    reminders.remind(now())
    for channel in reminders.alertmanagers():
        push_again.apply_async((channel,), expires=EXPIRES)


@shared_task  # type: ignore[untyped-decorator]
def push_again(channel: int) -> None:
    reminders.push_again(channel, now())
