"""How many modules a worker's process imported lately: its first tasks of a kind import what they need."""

from __future__ import annotations

import sys
from collections import deque
from time import monotonic
from typing import Any

from observatory.agent.worker.event_loop import HELD

METRIC = "observatory_imported_modules"
"""among the metrics of heartbeats (Worker.metrics)"""


class ImportedModules:
    """Since the last heartbeat that is at least HELD seconds old.

    While the event loop imports there are no heartbeats; the one after that reports all of it.
    """

    def __init__(self) -> None:
        self._counts = deque([(monotonic(), len(sys.modules))])
        """(when, modules) of the last heartbeats"""

    def __call__(self, worker: Any) -> int:
        time, count = monotonic(), len(sys.modules)
        self._counts.append((time, count))
        while self._counts[1][0] <= time - HELD:
            self._counts.popleft()
        return max(0, count - self._counts[0][1])
