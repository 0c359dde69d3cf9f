"""Reports once how long a worker's job waited in the queue, as its batch system's command tells."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable

from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.agent.batch_systems.systems import with_queue
from observatory.wire.batch_jobs import BatchJob

SPREAD = 10.0
"""seconds in which the workers that start at the same time ask: a batch system has one server"""


class QueueReport:
    """Asks in a thread of its own, and calls `report` with the job if more of it is known then."""

    def __init__(self, system: BatchSystem, job: BatchJob, report: Callable[[BatchJob], None]) -> None:
        self.system = system
        self.job = job
        self.report = report
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observatory-batch-queue", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """From now on nothing is reported: a worker that left must not come back."""
        self._stopping.set()

    def _run(self) -> None:
        if self._stopping.wait(SPREAD * random.random()):
            return
        with contextlib.suppress(Exception):  # never disturb the worker
            known = with_queue(self.system, self.job)
            if known != self.job and not self._stopping.is_set():
                self.report(known)
