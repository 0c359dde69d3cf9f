"""Tasks that stayed with a busy worker, while threads of other workers had nothing to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from observatory.why.intervals import Flags, Integers, Intervals, Steps, added, distinct_times, joined
from observatory.why.records import Records, RowsByWorker, Worker
from observatory.why.thread_times.assignments import Assignments
from observatory.wire.records import Action

SHORTEST = 2_500_000
"""microseconds for which tasks stay, and a thread elsewhere is idle: the scheduler balances once a second"""
GAP = 100_000
"""microseconds between two tasks of a thread, in which more of them than usual may be on their way"""


@dataclass(frozen=True, slots=True)
class Pile:
    """The tasks that stayed with one worker."""

    worker: int
    waiting: Steps
    """how many of them had no thread"""
    times: Intervals
    """separate and in order"""


@dataclass(frozen=True)
class Piles:
    """All of a window."""

    piles: Sequence[Pile]
    idle: Steps
    """threads that had nothing to do for long, at any worker"""

    @cached_property
    def threads(self) -> Steps:
        """Threads that could have had a task of a pile."""
        waiting = added([one.waiting for one in self.piles])
        edges = distinct_times(waiting.edges, self.idle.edges)
        if not len(waiting.edges) or not len(self.idle.edges):
            return Steps(edges[:0], np.zeros(0))
        return Steps(edges, np.minimum(waiting.at(edges[:-1]), self.idle.at(edges[:-1])))

    def holds(self, worker: Integers, times: Intervals) -> Flags:
        """Whether each wait of a task on a worker overlaps a pile there."""
        found = np.zeros(len(worker), np.bool_)
        for pile in self.piles:
            # the first part of the pile that ends after the wait begins
            place = np.searchsorted(pile.times.stop, times.start, side="right")
            begins = np.append(pile.times.start, np.iinfo(np.int64).max)[place]
            found |= (worker == pile.worker) & (begins < times.stop)
        return found


def piles(records: Records, sent: Assignments) -> Piles:
    """Return the piles of a window. `sent`: tasks that waited on their worker."""
    spans, others, left = records.spans, records.others, records.unfinished
    is_computing = spans.action == Action.COMPUTE
    computing = _ByWorker(
        np.concatenate([spans.worker[is_computing], others.worker, left.worker]),
        joined([spans.in_pool.where(is_computing), others.times, left.in_pool]),
    )
    waits = _ByWorker(sent.worker, sent.waits)
    pauses = _ByWorker(records.pauses.worker, records.pauses.times)
    loads = [
        _load(one, computing, waits, pauses, one.start <= records.start)
        for one in records.workers
        if one.threads
    ]
    idle = added([_long(load.idle) for load in loads])
    when_idle = _positive(idle)
    found = [_pile(load, when_idle) for load in loads] if len(when_idle) else []
    return Piles([one for one in found if len(one.times)], idle)


class _ByWorker:
    """Times of workers, sorted once."""

    def __init__(self, worker: Integers, times: Intervals) -> None:
        self._rows, self._times = RowsByWorker(worker), times

    def during(self, worker: Worker) -> Intervals:
        return self._times.where(self._rows(worker.id)).clipped(worker.start, worker.stop)


@dataclass(frozen=True, slots=True)
class _Load:
    """Of a worker: both steps have the same edges."""

    worker: int
    idle: Steps
    """threads without a task, beyond the tasks that are on their way to them"""
    waiting: Steps
    """tasks that wait while all threads have one"""


def _load(
    worker: Worker, computing_of: _ByWorker, waits_of: _ByWorker, pauses_of: _ByWorker, was_there: bool
) -> _Load:
    """`was_there`: at the start of the window. One that joins takes no task until its plugins are set up."""
    computing, waits = computing_of.during(worker), waits_of.during(worker)
    paused = pauses_of.during(worker).union()
    parts = joined([computing, waits, paused])
    edges = distinct_times(parts.start, parts.stop, np.array([worker.start, worker.stop], np.int64))
    used, on_way = computing.counts(edges), waits.counts(edges)
    begun = worker.start if was_there else int(min([*computing.start, *waits.start], default=worker.stop))
    takes_none = paused.covers(edges) | (edges[:-1] < begun)
    idle = np.where(takes_none, 0, np.maximum(0, worker.threads - used - on_way))
    waiting = np.where(used >= worker.threads, on_way, 0)
    return _Load(worker.id, Steps(edges, idle.astype(np.float64)), Steps(edges, waiting.astype(np.float64)))


def _pile(load: _Load, when_idle: Intervals) -> Pile:
    times = _positive(load.waiting).joined(GAP)
    both = times.without(times.without(when_idle))
    long = both.where(both.lengths >= SHORTEST)
    return Pile(load.worker, _during(load.waiting, long), long)


def _long(steps: Steps) -> Steps:
    """What is positive for long without a break."""
    times = _positive(steps)
    return _during(steps, times.where(times.lengths >= SHORTEST))


def _during(steps: Steps, times: Intervals) -> Steps:
    edges = distinct_times(steps.edges, times.start, times.stop)
    if len(edges) < 2:
        return Steps(edges[:0], np.zeros(0))
    return Steps(edges, np.where(times.covers(edges), steps.at(edges[:-1]), 0.0))


def _positive(steps: Steps) -> Intervals:
    """When it is, as separate intervals in order."""
    is_positive = steps.values > 0
    return Intervals(steps.edges[:-1][is_positive], steps.edges[1:][is_positive]).union()
