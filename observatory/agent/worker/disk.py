"""How full the disk is that a worker spills to, as rows of kind `sample`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from threading import Thread
from time import monotonic, time
from typing import Any

INTERVAL = 5.0
METRIC = "observatory_worker_disk_ratio"
GAUGE = 1


class Disk:
    """Looks in a thread: a disk on a network may not answer, and the event loop doesn't wait for it."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._looked = float("-inf")
        self._thread: Thread | None = None
        self._found: tuple[float, float] | None = None

    def rows(self, delay: float) -> Iterator[tuple[Any, ...]]:
        """What was found since; `delay` is what the scheduler's clock is ahead by, in seconds."""
        if self._thread is not None and self._thread.is_alive():
            return
        if self._found is not None:
            moment, ratio = self._found
            self._found = None
            yield moment + delay, ratio, json.dumps([METRIC, {}, self.worker.address, GAUGE])
        if monotonic() - self._looked >= INTERVAL:
            self._looked = monotonic()
            self._thread = Thread(target=self._look, name="observatory-disk", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        try:
            usage = shutil.disk_usage(self.worker.local_directory)
        except OSError:  # the folder is gone, or its disk is
            return
        if usage.used + usage.free:
            # as df says it: what is kept for root is neither used nor free
            self._found = (time(), usage.used / (usage.used + usage.free))
