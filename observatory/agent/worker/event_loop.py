"""How busy a worker's event loop was since the last heartbeat."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Any

HELD = 1.0
"""seconds for which a mean is reported"""
METRIC = "observatory_event_loop_interval"
"""among the metrics of heartbeats (Worker.metrics)"""


class EventLoopInterval:
    """The mean seconds between two ticks since the last heartbeat, from Server._tick_counter.

    Worker heartbeats have Server._tick_interval_observed, which is of one second, and often not of the one in
    which the event loop was blocked. Of the heartbeats of the last HELD seconds the highest is reported,
    because the scheduler is sampled less often than workers send some.
    """

    def __init__(self, worker: Any) -> None:
        self._time, self._count = monotonic(), worker._tick_counter
        self._last: deque[tuple[float, float]] = deque()
        """(when, mean) of the last heartbeats"""

    def __call__(self, worker: Any) -> float:
        time, count = monotonic(), worker._tick_counter
        seconds, ticks = time - self._time, count - self._count
        self._time, self._count = time, count
        self._last.append((time, float(seconds / max(ticks, 1))))
        while self._last[0][0] <= time - HELD:
            self._last.popleft()
        return max(mean for _, mean in self._last)
