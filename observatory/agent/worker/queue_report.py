"""Reports once how long a worker's job waited in the queue, as its batch system's command tells."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import random
import socket
import threading
from collections.abc import Callable

from observatory.agent.batch_systems.batch_system import BatchSystem
from observatory.agent.batch_systems.systems import with_queue
from observatory.wire.workers.batch_jobs import BatchJob

SPREAD = 20.0
"""seconds in which the jobs that start at the same time ask: a batch system has one server"""


class AnotherAsks(Exception):
    """A process of this machine has claimed the job."""


def claim(job: BatchJob) -> socket.socket | None:
    """Claims to ask for a job, as long as the socket is open; None where that isn't possible.

    Raises AnotherAsks. A name in Linux' abstract namespace leaves nothing behind, however the process ends.
    """
    text = "\0".join((job.system, job.site, job.id, str(job.restarts)))
    claimed = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claimed.bind(f"\0observatory-batch-{hashlib.sha256(text.encode()).hexdigest()}")
    except OSError as error:
        claimed.close()
        if error.errno == errno.EADDRINUSE:
            raise AnotherAsks from None
        return None
    return claimed


class QueueReport:
    """Asks in a thread of its own, and calls `report` with the job if more of it is known then.

    Of the workers of a job on one machine the first one asks.
    """

    def __init__(self, system: BatchSystem, job: BatchJob, report: Callable[[BatchJob], None]) -> None:
        self.system = system
        self.job = job
        self.report = report
        self._claim: socket.socket | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observatory-batch-queue", daemon=True)

    def start(self) -> None:
        with contextlib.suppress(AnotherAsks):
            self._claim = claim(self.job)
            self._thread.start()

    def stop(self) -> None:
        """From now on nothing is reported: a worker that left must not come back."""
        self._stopping.set()
        if self._claim is not None:
            self._claim.close()

    def _run(self) -> None:
        if self._stopping.wait(SPREAD * random.random()):
            return
        with contextlib.suppress(Exception):  # never disturb the worker
            known = with_queue(self.system, self.job)
            if known != self.job and not self._stopping.is_set():
                self.report(known)
