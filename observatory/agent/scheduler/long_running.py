"""When tasks left the pool of threads of their worker (`secede`, `worker_client`): long-running in Dask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from distributed import Scheduler

MESSAGE = "long-running"
"""that a worker sends when one of its tasks has seceded"""
MOST_TASKS = 100_000
"""that are remembered at once"""


class LongRunning:
    """Remembers for how long tasks that run had computed when they seceded."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._seconds: dict[Any, tuple[str, float]] = {}
        """Worker and seconds by key."""

    def install(self) -> None:
        """Wraps the handler of the message."""
        self._handler = handler = self.scheduler.stream_handlers[MESSAGE]
        self.scheduler.stream_handlers[MESSAGE] = self._remembering(handler)

    def uninstall(self) -> None:
        self.scheduler.stream_handlers[MESSAGE] = self._handler

    def ended(self, key: Any, worker: str) -> float | None:
        """The seconds of a task that has ended on a worker; None: it had not seceded there."""
        on, seconds = self._seconds.pop(key, ("", 0.0))
        return seconds if on and on == worker else None

    def _remembering(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(handler)
        def handle_long_running(*arguments: Any, **message: Any) -> Any:
            with contextlib.suppress(Exception):  # never disturb the scheduler
                self._remember(message)
            return handler(*arguments, **message)

        return handle_long_running

    def _remember(self, message: dict[str, Any]) -> None:
        seconds = message.get("compute_duration")
        if not isinstance(seconds, (int, float)):  # it had seceded before
            return
        key = message["key"]
        self._seconds.pop(key, None)
        self._seconds[key] = (message["worker"], float(seconds))
        if len(self._seconds) > MOST_TASKS:
            self._seconds.pop(next(iter(self._seconds)))
