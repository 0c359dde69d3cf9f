"""When workers had tasks and began none: what keeps their event loop is there in a simulation as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observatory.why.intervals import Intervals, joined
from observatory.why.records import Records, Spans
from observatory.why.thread_times.assignments import Stays
from observatory.why.what_if.recorded.rates import sent_times
from observatory.wire.records import Action

SHORTEST = 500_000
"""microseconds for which tasks were there, and no thread of the worker computed: shorter ones are sending"""
GAP = 20_000
"""microseconds between two parts of a stall, and between its beginning and the tasks that came with it"""


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which a worker's event loop did nothing. Times are microseconds."""

    worker: int
    start: int
    stop: int
    places: tuple[int, ...]
    """the computations that waited all that time: the first of them that a thread would take begins it"""
    since: int
    """when that thread was free: the last one was at `start`"""

    @property
    def seconds(self) -> float:
        return (self.stop - self.since) / 1e6


def stalls(records: Records, computing: Spans, known: Stays) -> list[Stall]:
    """Return the stalls of a window, in which these computations ran.

    Not while data was on its way to the worker, while it used the disk, or was paused: these are simulated.
    """
    error = records.clock_errors_of(computing.worker)
    sent = sent_times(known, computing.task, computing.times.start + error)
    begun = computing.times.start
    waits = Intervals.of(np.where(sent > 0, np.minimum(sent, begun), begun), begun)
    found = []
    for worker in records.workers:
        rows = np.flatnonzero(computing.worker == worker.id)
        own = waits.where(rows).clipped(worker.start, worker.stop)
        rest = own.union().without(_busy(records, worker.id)).joined(GAP)
        long = rest.where(rest.lengths >= SHORTEST)
        for start, stop in zip(long.start.tolist(), long.stop.tolist(), strict=True):
            waited = (own.start <= start + GAP) & (own.stop >= stop - GAP)
            freed = _freed(computing.where(rows), start + GAP)
            since = min(start, max(freed, int(own.start[waited].min(initial=start))))
            found.append(Stall(worker.id, start, stop, tuple(rows[waited].tolist()), since))
    return found


def _freed(computing: Spans, time: int) -> int:
    """When the first thread of a worker was free, of those that computed before a time."""
    before = computing.where(computing.times.stop <= time)
    ends = [int(before.times.stop[before.lane == lane].max()) for lane in np.unique(before.lane).tolist()]
    return min(ends, default=time)


def _busy(records: Records, worker: int) -> Intervals:
    """When a worker computed, used the disk, received data or was paused."""
    spans, others = records.spans, (records.transfers, records.pauses)
    is_own = (spans.worker == worker) & np.isin(
        spans.action, (Action.COMPUTE, Action.DISK_READ, Action.DISK_WRITE)
    )
    times = [one.times.where(one.worker == worker) for one in others]
    return joined([spans.times.where(is_own), *times]).union()
