"""Heartbeats of Celery's worker and beat, and Observatory's own metrics."""

from __future__ import annotations

import threading
from typing import Any

from celery import current_app, shared_task
from celery.signals import beat_init, worker_ready, worker_shutting_down
from django.conf import settings

from observatory.base import redis_server
from observatory.base.memory import prepare_for_hours
from observatory.runtime.beat_thread import start_beat
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.waiting_workers import end_waits


@shared_task  # type: ignore[untyped-decorator]
def beat() -> None:
    beats.write_beat(redis_server.connect())


@shared_task  # type: ignore[untyped-decorator]
def record_own_metrics() -> None:
    # beat imports this module without Django's models
    from observatory.runtime.health import own_recording

    own_recording.record_own_metrics()


@worker_ready.connect  # type: ignore[untyped-decorator]
def _worker_is_ready(**_: Any) -> None:
    if settings.BEAT_SCHEDULE_FILE:
        start_beat(current_app, settings.BEAT_SCHEDULE_FILE)
    prepare_for_hours()
    beats.report_ready()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _worker_is_shutting_down(**_: Any) -> None:
    # in a thread: this is the handler of a signal, after which the worker's loop goes on to wait
    threading.Thread(target=end_waits, name="end-waits", daemon=True).start()


@beat_init.connect  # type: ignore[untyped-decorator]
def _beat_is_ready(**_: Any) -> None:
    if not settings.BEAT_SCHEDULE_FILE:  # a process of its own
        prepare_for_hours()
    beat.delay()  # the schedule's first one is an interval away
