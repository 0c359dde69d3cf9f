"""Tasks that ran and did not finish in the window: they hung, were cancelled, or go on. None has a span."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import numpy as np

from observatory.why.intervals import Integers, Intervals, joined
from observatory.why.records import Records, Spans
from observatory.why.seceded import SHORTEST
from observatory.why.thread_times.assignments import Stays, left_behind, stays
from observatory.wire.records import Action

MOST_OF_WORKER = 200
"""unfinished tasks of a worker that are looked for: each takes a look at all that it computed"""
Begun = tuple[int, int, int]
"""the row of a task, its lane (below 0: it isn't known), and when it began (microseconds)"""


def unfinished_computations(records: Records) -> Spans:
    """Return them as computations that last until the task was withdrawn, or until the window's end.

    A worker tells of a task with its span, once it has ended. So such a task is taken to have begun when its
    worker had a thread for it: after the last time, since it was sent, in which all of them computed.
    """
    left = left_behind(records, stays(records))
    if not len(left.task):
        return Spans.none()
    computing = records.spans.where(records.spans.action == Action.COMPUTE)
    threads = {worker.id: worker.threads for worker in records.workers}
    unused = count(-1, -1)
    found: list[Begun] = []
    for worker in np.unique(left.worker).tolist():
        rows = np.flatnonzero(left.worker == worker)
        rows = rows[np.argsort(left.times.start[rows], kind="stable")]
        own = computing.where(computing.worker == worker)
        error = SHORTEST + records.clock_errors.get(worker, 0)
        found += islice(_begun(own, left.times, rows, threads.get(worker, 0), error, unused), MOST_OF_WORKER)
    return _spans(left, found)


def _begun(
    own: Spans, sent: Intervals, rows: Integers, threads: int, error: int, unused: Iterator[int]
) -> Iterator[Begun]:
    """Yield those of `rows` of `sent` that got a thread; `own`: what their worker computed."""
    taken = Intervals(own.times.start, np.maximum(own.times.start, own.seceded - error))
    lanes = {lane: own.times.where(own.lane == lane) for lane in np.unique(own.lane).tolist()}
    full = _full(taken, threads)
    for row in rows.tolist():
        start, stop = int(sent.start[row]), int(sent.stop[row])
        last = int(full.start.searchsorted(stop)) - 1
        begun = max(start, int(full.stop[last])) if last >= 0 else start
        if stop - begun <= (error if begun > start else 0):
            continue
        lane = next((id for id, some in lanes.items() if not _overlap(some, begun + error, stop)), None)
        lane = next(unused) if lane is None else lane
        times = Intervals.of(np.array([begun]), np.array([stop]))
        lanes[lane] = joined([lanes.get(lane, Intervals.none()), times])
        taken = joined([taken, times])
        full = _full(taken, threads)
        yield row, lane, begun


def _full(taken: Intervals, threads: int) -> Intervals:
    """When all threads of a worker had a task."""
    edges = np.unique(np.concatenate([taken.start, taken.stop]))
    if len(edges) < 2:
        return Intervals.none()
    is_full = taken.counts(edges) >= threads
    return Intervals(edges[:-1][is_full], edges[1:][is_full]).union()


def _overlap(times: Intervals, start: int, stop: int) -> bool:
    return bool(np.any((times.start < stop) & (times.stop > start)))


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
        nbytes=nothing,
        times=Intervals(begun, stop),
        recorded_start=begun,
        seceded=stop,
    )
