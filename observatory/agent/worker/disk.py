"""Samples how full the disk is that a worker spills to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from threading import Thread
from time import monotonic, time
from typing import Any

from observatory.wire.records import MetricType
from observatory.wire.rounding import rounded

INTERVAL = 5.0
METRIC = "observatory_worker_disk_ratio"
GAUGE = int(MetricType.GAUGE)


class Disk:
    """Reads the disk in a thread, because a network disk may hang and must not block the event loop."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._measured_at = float("-inf")
        self._thread: Thread | None = None
        self._result: tuple[float, float] | None = None

    def rows(self, delay: float) -> Iterator[tuple[Any, ...]]:
        """New rows of kind `sample`. `delay`: seconds that the scheduler's clock is ahead of this one."""
        if self._thread is not None and self._thread.is_alive():
            return
        if self._result is not None:
            measured, ratio = self._result
            self._result = None
            series = json.dumps([METRIC, {}, self.worker.address, GAUGE])
            yield measured + delay, rounded(METRIC, ratio), series
        if monotonic() - self._measured_at >= INTERVAL:
            self._measured_at = monotonic()
            self._thread = Thread(target=self._measure, name="observatory-disk", daemon=True)
            self._thread.start()

    def _measure(self) -> None:
        try:
            usage = shutil.disk_usage(self.worker.local_directory)
        except OSError:  # the folder or its disk is gone
            return
        if usage.used + usage.free:
            # like df: blocks reserved for root count as neither used nor free
            self._result = (time(), usage.used / (usage.used + usage.free))
