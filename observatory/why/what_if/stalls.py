"""When workers had tasks and began none: what keeps their event loop is there in a simulation as well."""

from __future__ import annotations

import numpy as np

from observatory.why.intervals import Intervals, joined
from observatory.why.records import OfWorkers, Records, Spans
from observatory.why.thread_times.assignments import assignments, stays
from observatory.wire.records import Action

SHORTEST = 500_000
"""microseconds for which tasks were there, and no thread of the worker computed: shorter ones are sending"""
GAP = 20_000
"""microseconds between two parts of a stall"""


def stalls(records: Records) -> dict[int, Intervals]:
    """Return the stalls of each worker that had any, by its id.

    Not while data was on its way to it, while it used the disk, or while it was paused: these are simulated.
    """
    sent = assignments(records, stays(records))
    sent = sent.where(~sent.is_lost)
    known = OfWorkers(sent.worker, sent.waits)
    others = [_busy(records.spans), records.transfers, records.pauses]
    lives = {worker.id: (worker.start, worker.stop) for worker in records.workers}
    found = {}
    for worker in np.unique(known.worker[np.isin(known.worker, list(lives))]).tolist():
        waits = _of(known, worker).clipped(*lives[worker]).union()
        rest = waits.without(joined([_of(other, worker) for other in others]).union()).joined(GAP)
        long = rest.where(rest.lengths >= SHORTEST)
        if len(long):
            found[worker] = long
    return found


def _busy(spans: Spans) -> OfWorkers:
    rows = spans.where(np.isin(spans.action, (Action.COMPUTE, Action.DISK_READ, Action.DISK_WRITE)))
    return OfWorkers(rows.worker, rows.times)


def _of(some: OfWorkers, worker: int) -> Intervals:
    return some.times.where(some.worker == worker)
