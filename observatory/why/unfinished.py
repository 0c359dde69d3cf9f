"""Tasks that ran and did not finish in the window: they hung, were cancelled, or go on. None has a span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np

from observatory.why.cancelled import Cancelled
from observatory.why.earlier import Earlier
from observatory.why.intervals import Flags, Integers, Intervals, distinct_times, joined
from observatory.why.records import Records, RowsByWorker, Spans, Transitions
from observatory.why.seceded import SHORTEST
from observatory.why.thread_times.assignments import Stays, left_behind, stays
from observatory.wire.records import Action

MOST_OF_WORKER = 200
"""unfinished tasks of a worker that are looked for: each takes a look at all that it computed"""
LANES_BEFORE = -1_000_000
"""lanes, from here downwards, of tasks that were withdrawn before the window"""
Begun = tuple[int, int, int]
"""the row of a task, its lane (below 0: it isn't known), and when it began (microseconds)"""


@dataclass(frozen=True, slots=True)
class Unfinished:
    spans: Spans
    withdrawn: Integers
    """when the scheduler did not want each of them any more; its end, where it did"""

    @classmethod
    def none(cls) -> Unfinished:
        return cls(Spans.none(), np.zeros(0, np.int64))

    def where(self, condition: Flags | Integers) -> Unfinished:
        return Unfinished(self.spans.where(condition), self.withdrawn[condition])


def unfinished_computations(
    records: Records,
    earlier: Earlier | None = None,
    cancelled: Cancelled | None = None,
) -> Unfinished:
    """Return them as computations that last until their function returned, or until the window's end.

    A worker tells of a task with its span, once it has ended. So such a task is taken to have begun when its
    worker had a thread for it: after the last time, since it was sent, in which all of them computed, and not
    while the worker was paused. `earlier`: of tasks that were sent before the window. `cancelled`: how many
    tasks the workers had that went on although they were withdrawn; else they end then.
    """
    earlier, cancelled = earlier or Earlier.none(), cancelled or Cancelled.none()
    left = _left(records, earlier.transitions)
    if not len(left.task):
        return Unfinished.none()
    is_before = left.times.stop <= records.start
    ran = _spans(left.where(~is_before), _begun_in_window(records, left.where(~is_before)))
    found = ran.and_these(_spans(left.where(is_before), _begun_before(records, left.where(is_before))))
    withdrawn = found.times.stop
    start = np.maximum(found.times.start, records.start)
    stop = np.minimum(_returned(found, np.maximum(withdrawn, start), cancelled, records.stop), records.stop)
    spans = replace(found, times=Intervals(start, stop), recorded_start=start, seceded=stop)
    return Unfinished(spans, withdrawn).where(stop > start)


def _left(records: Records, earlier: Transitions) -> Stays:
    """The tasks that workers had and that did not finish there, also of those sent before the window."""
    if not len(earlier):
        return left_behind(records, stays(records))
    since = replace(
        records,
        start=int(earlier.time.min()),
        transitions=records.transitions.and_these(earlier),
    )
    known = stays(since)
    is_earlier = np.isin(known.task, earlier.task)
    start = np.where(is_earlier, known.times.start, np.maximum(known.times.start, records.start))
    return left_behind(since, replace(known, times=Intervals(start, known.times.stop)))


def _returned(spans: Spans, withdrawn: Integers, cancelled: Cancelled, stop: int) -> Integers:
    """When the function of each task returned, as far as samples tell."""
    found = withdrawn.copy()
    for worker in np.unique(spans.worker[withdrawn < stop]).tolist():
        rows = np.flatnonzero((spans.worker == worker) & (withdrawn < stop))
        rows = rows[np.argsort(withdrawn[rows], kind="stable")]
        found[rows] = cancelled.kept_until(worker, withdrawn[rows])
    return found


def _begun_before(records: Records, left: Stays) -> list[Begun]:
    """Tasks that were withdrawn before the window: those withdrawn last first, which were sent first."""
    order = np.lexsort((left.times.start, -(left.times.stop // 1_000_000)))
    return [(row, LANES_BEFORE - row, records.start) for row in order.tolist()]


def _begun_in_window(records: Records, left: Stays) -> list[Begun]:
    """Those of some tasks that got a thread."""
    computing = records.spans.computing
    computing_of, left_of = RowsByWorker(computing.worker), RowsByWorker(left.worker)
    threads = {worker.id: worker.threads for worker in records.workers}
    unused = count(-1, -1)
    found: list[Begun] = []
    for worker in np.unique(left.worker).tolist():
        rows = left_of(worker)
        rows = rows[np.argsort(left.times.start[rows], kind="stable")]
        own = computing.where(computing_of(worker))
        pauses = records.pauses.times.where(records.pauses.worker == worker).union()
        room = _Room(own, threads.get(worker, 0), SHORTEST + records.clock_errors.get(worker, 0), pauses)
        found += islice(_begun(room, left.times, rows, unused), MOST_OF_WORKER)
    return found


class _Room:
    """When a worker has a thread for a further task."""

    def __init__(self, own: Spans, threads: int, error: int, pauses: Intervals) -> None:
        """`own`: what it computed; `error`: by how much two tasks of one thread seem to overlap."""
        self._threads, self.error = threads, error
        # both the end of the task before and the pause can be known late
        self._pauses = Intervals(pauses.start - 2 * error, pauses.stop)
        self._taken = Intervals(own.times.start, np.maximum(own.times.start, own.seceded - error))
        self._lanes = {lane: own.times.where(own.lane == lane) for lane in np.unique(own.lane).tolist()}
        self._full = self._find_full()

    def after(self, start: int, stop: int) -> int:
        """Since when it has one until `stop`, at least `start`; a paused worker begins no task."""
        last = int(self._full.start.searchsorted(stop)) - 1
        begun = max(start, int(self._full.stop[last])) if last >= 0 else start
        pause = int(self._pauses.start.searchsorted(begun, side="right")) - 1
        return max(begun, int(self._pauses.stop[pause])) if pause >= 0 else begun

    def take(self, start: int, stop: int, unused: Iterator[int]) -> int:
        """Takes a thread for a task; returns its lane."""
        lane = next((id for id, some in self._lanes.items() if self._is_free(some, start, stop)), None)
        lane = next(unused) if lane is None else lane
        times = Intervals.of(np.array([start]), np.array([stop]))
        self._lanes[lane] = joined([self._lanes.get(lane, Intervals.none()), times])
        self._taken = joined([self._taken, times])
        self._full = self._find_full()
        return lane

    def _is_free(self, lane: Intervals, start: int, stop: int) -> bool:
        return not np.any((lane.start < stop) & (lane.stop > start + self.error))

    def _find_full(self) -> Intervals:
        edges = distinct_times(self._taken.start, self._taken.stop)
        if len(edges) < 2:
            return Intervals.none()
        is_full = self._taken.counts(edges) >= self._threads
        return Intervals(edges[:-1][is_full], edges[1:][is_full]).union()


def _begun(room: _Room, sent: Intervals, rows: Integers, unused: Iterator[int]) -> Iterator[Begun]:
    """Yield those of `rows` of `sent` that got a thread."""
    for row in rows.tolist():
        start, stop = int(sent.start[row]), int(sent.stop[row])
        begun = room.after(start, stop)
        if stop - begun > (room.error if begun > start else 0):
            yield row, room.take(begun, stop, unused), begun


def _spans(left: Stays, found: list[Begun]) -> Spans:
    columns = np.array(found, np.int64).reshape(-1, 3)
    rows, lane, begun = columns[:, 0], columns[:, 1], columns[:, 2]
    nothing, stop = np.zeros(len(rows), np.int64), left.times.stop[rows]
    return Spans(
        worker=left.worker[rows],
        task=left.task[rows],
        prefix=left.prefix[rows],
        group=nothing,
        lane=lane,
        action=np.full(len(rows), int(Action.COMPUTE), np.int64),
        is_error=np.ones(len(rows), np.bool_),
        is_rescheduled=np.zeros(len(rows), np.bool_),
        nbytes=nothing,
        times=Intervals(begun, stop),
        recorded_start=begun,
        seceded=stop,
    )
