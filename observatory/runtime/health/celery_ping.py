"""Asks Celery's workers whether they answer, from any process."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery


def ping(timeout: float, workers: Sequence[str] | None = None) -> bool:
    """Whether one of `workers` (names of nodes; None: any) answers within `timeout` seconds.

    Raises an error of the broker where Redis does not answer.
    """
    # an app of its own: that of config/ is above this room, and knows the tasks of all of them
    with Celery("observatory", fixups=(), set_as_current=False) as app:
        app.config_from_object("django.conf:settings", namespace="CELERY")
        return bool(app.control.ping(destination=workers, timeout=timeout))
