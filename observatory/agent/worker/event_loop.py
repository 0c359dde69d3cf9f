"""How busy the event loop of a scheduler or a worker was: since a sample, or since a heartbeat."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from time import monotonic
from typing import Any

from observatory.agent.worker.profiles.task_threads import THREADS

HELD = 1.0
"""seconds for which a mean is reported"""
METRIC, OWN_METRIC = "observatory_event_loop_interval", "observatory_event_loop_own_interval"
"""among the metrics of heartbeats (Worker.metrics)"""


class Ticks:
    """Counts the ticks of a server's event loop (Server._tick_counter), on its thread."""

    def __init__(self, server: Any, threads: Path = THREADS) -> None:
        self._server, self._threads = server, threads
        self._time, self._count, self._without_core = monotonic(), self._ticks(), self._waited()

    def means(self) -> tuple[float, float | None]:
        """The mean seconds between two ticks since the last call, and without those in which it had no core.

        On a machine with too few cores ticks are late, and nothing blocks the loop. None: that isn't known.
        """
        time, count, without_core = monotonic(), self._ticks(), self._waited()
        seconds, ticks = time - self._time, max(count - self._count, 1)
        lost = None
        if without_core is not None and self._without_core is not None:
            lost = min(max(without_core - self._without_core, 0.0), seconds)
        self._time, self._count, self._without_core = time, count, without_core
        return seconds / ticks, None if lost is None else (seconds - lost) / ticks

    def _ticks(self) -> int:
        return int(getattr(self._server, "_tick_counter", 0))

    def _waited(self) -> float | None:
        """Seconds for which this thread was ready to run, and other threads had the cores. Source: Linux."""
        try:
            _, waited, _ = (self._threads / str(threading.get_native_id()) / "schedstat").read_text().split()
            return int(waited) / 1e9
        except (OSError, ValueError):
            return None


class EventLoopInterval:
    """The mean seconds between two ticks since the last heartbeat.

    Worker heartbeats have Server._tick_interval_observed, which is of one second, and often not of the one in
    which the event loop was blocked. Of the heartbeats of the last HELD seconds the highest is reported,
    because the scheduler is sampled less often than workers send some.
    """

    def __init__(self, worker: Any) -> None:
        self._ticks = Ticks(worker)
        self._last: deque[tuple[float, float, float | None]] = deque()
        """(when, mean, mean without the time without a core) of the last heartbeats"""

    def __call__(self, worker: Any) -> float:
        time = monotonic()
        self._last.append((time, *self._ticks.means()))
        while self._last[0][0] <= time - HELD:
            self._last.popleft()
        return max(mean for _, mean, _ in self._last)

    def own(self, worker: Any) -> float | None:
        """Without the time in which it had no core, by the heartbeats of the last call; None: not known."""
        return max((own for _, _, own in self._last if own is not None), default=None)
