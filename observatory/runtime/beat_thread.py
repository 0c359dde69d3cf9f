"""Celery's beat as a thread of a worker, for `up`: as a process of its own it would take 45 MiB."""

from __future__ import annotations

import logging
import os
import signal
import threading

from celery import Celery
from celery.beat import Service
from celery.signals import worker_shutting_down

log = logging.getLogger(__name__)


def start_beat(app: Celery, schedule: str) -> threading.Thread:
    """Sends the tasks of the schedule until this worker stops. `schedule`: the file for its state.

    If beat fails, the worker stops, too: a supervisor that starts it again starts both.
    """
    service = Service(app, schedule_filename=schedule)
    worker_shutting_down.connect(lambda **_: service.stop(), weak=False)
    thread = threading.Thread(target=_run, args=(service,), name="beat", daemon=True)
    thread.start()
    return thread


def _run(service: Service) -> None:
    try:
        service.start()
    except Exception:
        log.exception("beat failed: the worker stops")
        os.kill(os.getpid(), signal.SIGTERM)
