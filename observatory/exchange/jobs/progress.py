"""Progress and cancellation of jobs, through the job's row."""

from __future__ import annotations

import time

from observatory.exchange.formats.base import Cancelled, Progress
from observatory.exchange.models import Job

SECONDS_BETWEEN = 0.5
"""minimum between two updates of the row"""


def progress_of(job: Job) -> Progress:
    """Writes the job's progress to its row, at most twice a second. Raises Cancelled if it was cancelled."""
    last = 0.0

    def progress(done: float) -> None:
        nonlocal last
        if time.monotonic() - last < SECONDS_BETWEEN:
            return
        running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
        if not running.update(progress=min(max(done, 0.0), 1.0)):
            raise Cancelled
        last = time.monotonic()

    return progress
