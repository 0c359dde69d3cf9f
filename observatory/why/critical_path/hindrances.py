"""Why no worker took a task: none was there, or all ran tasks of other runs, were paused or had lost ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.why.critical_path.waits import Wait, divided
from observatory.why.intervals import Intervals, distinct_times, joined
from observatory.why.records import Records, Worker
from observatory.why.thread_times.assignments import Stays, assignments
from observatory.why.thread_times.kinds import ThreadKind


class Hindrances:
    """Divides the time in which a task was with the scheduler."""

    def __init__(self, records: Records, known: Stays, full: Intervals) -> None:
        """`full`: when no thread was free."""
        lost = _lost(records, known)
        paused = {
            worker.id: records.pauses.times.where(records.pauses.worker == worker.id).union()
            for worker in records.workers
        }
        lives = {worker.id: _life(worker) for worker in records.workers}
        could = [lives[id].without(joined([paused[id], lost[id]]).union()) for id in lives]
        self._kinds = [
            (ThreadKind.OTHER_RUNS, full.without(full.without(records.others.times.union()))),
            (ThreadKind.SCHEDULER, _union(could)),
            (ThreadKind.PAUSED, _union(list(paused.values()))),
            (ThreadKind.LOST, _union(list(lost.values()))),
        ]

    def parts(self, start: int, stop: int) -> Iterator[Wait]:
        """[start, stop) by the first kind of each instant, the latest first. STARTING: none was there."""
        return divided(start, stop, self._kinds, ThreadKind.STARTING)


def _life(worker: Worker) -> Intervals:
    return Intervals.of(np.array([worker.start]), np.array([worker.stop]))


def _union(parts: list[Intervals]) -> Intervals:
    return joined([Intervals.none(), *parts]).union()


def _lost(records: Records, known: Stays) -> dict[int, Intervals]:
    """When all threads of each worker had tasks that were lost with it."""
    died = [worker for worker in records.workers if worker.has_ended]
    found = {worker.id: Intervals.none() for worker in records.workers}
    if not died:
        return found
    sent = assignments(records, known.where(np.isin(known.worker, [worker.id for worker in died])))
    for worker in died:
        waits = sent.waits.where(sent.is_lost & (sent.worker == worker.id))
        edges = distinct_times(waits.start, waits.stop)
        if len(edges):
            is_full = waits.counts(edges) >= worker.threads
            found[worker.id] = Intervals(edges[:-1][is_full], edges[1:][is_full]).union()
    return found
