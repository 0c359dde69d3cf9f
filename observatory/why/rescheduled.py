"""Calls that raised `distributed.Reschedule`: their tasks were sent again. Dask sends no span of them.

A task is released then, and the stimulus of that tells why. When its call began is inferred: after its task
was sent, as soon as a thread of its worker had nothing else to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from observatory.why.clocks import UNKNOWN
from observatory.why.intervals import Integers, Intervals
from observatory.why.records import Records, RowsByWorker, Spans
from observatory.why.thread_times.assignments import PROCESSING, Stays, stays
from observatory.wire.records import Action

HEARD_WITHIN = 20_000
"""microseconds after its end, in which the scheduler hears of a call: its thread computes again by then"""


def rescheduled_computations(records: Records, task: Integers, group: Integers, time: Integers) -> Spans:
    """Return the calls as computations that erred.

    `task`, `group`, `time`: of the tasks, and when the scheduler heard of each call (microseconds). Those
    that were sent before the window are left out.
    """
    sent, groups = _sent(records, task, group, time)
    computing = records.spans.computing
    rows_sent, rows_computing = RowsByWorker(sent.worker), RowsByWorker(computing.worker)
    parts = []
    for worker in records.workers:
        rows = rows_sent(worker.id)
        if len(rows):
            rows = rows[np.argsort(sent.times.stop[rows], kind="stable")]
            own = computing.where(rows_computing(worker.id))
            error = HEARD_WITHIN + records.clock_errors.get(worker.id, 0)
            rooms = _Rooms.of(own, worker.threads, sent.times.stop[rows], error)
            calls = np.array([*_calls(rooms, sent.times.where(rows))], np.int64).reshape(-1, 4)
            parts.append(_spans(sent, groups, rows, calls))
    return Spans.none().and_these(*parts)


def _sent(records: Records, task: Integers, group: Integers, time: Integers) -> tuple[Stays, Integers]:
    """The stays on workers that the calls ended, and the groups of their tasks."""
    groups = dict(zip(zip(task.tolist(), time.tolist(), strict=True), group.tolist(), strict=True))
    of_them = records.transitions.where(np.isin(records.transitions.task, task))
    known = stays(replace(records, transitions=of_them))
    known = known.where((known.state == PROCESSING) & (known.worker > 0))
    ends = zip(known.task.tolist(), known.times.stop.tolist(), strict=True)
    found = np.array([groups.get(end, 0) for end in ends], np.int64)
    return known.where(found > 0), found[found > 0]


@dataclass(frozen=True, slots=True)
class _Rooms:
    """When each thread of a worker had nothing else to do: a row a thread, a column a call."""

    lanes: Integers
    """below 0: a thread that computed nothing"""
    since: Integers
    until: Integers

    @classmethod
    def of(cls, own: Spans, threads: int, heard: Integers, error: int) -> _Rooms:
        """`own`: what the worker computed; `heard`: of the end of each call."""
        lanes = np.unique(own.lane)
        times = [own.in_pool.where(own.lane == lane) for lane in lanes.tolist()]
        unused = -1 - np.arange(max(len(lanes) == 0, threads - len(lanes)))
        rooms = [_room(one, heard, error) for one in [*times, *(Intervals.none() for _ in unused)]]
        since, until = (np.array(rows).reshape(-1, len(heard)) for rows in zip(*rooms, strict=True))
        return cls(np.concatenate([lanes, unused]), since, until)


def _room(times: Intervals, heard: Integers, error: int) -> tuple[Integers, Integers]:
    """The end of what a thread computed before each time, and the time, or what it had begun since then."""
    starts, stops = np.append(times.start, UNKNOWN), np.append(-UNKNOWN, times.stop)
    place = times.start.searchsorted(heard)
    has_begun = np.append(-UNKNOWN, times.start)[place] >= heard - error
    place = place - has_begun
    return stops[place], np.minimum(heard, starts[place])


def _calls(rooms: _Rooms, sent: Intervals) -> Iterator[tuple[int, int, int, int]]:
    """Yield the place among `sent`, which are in the order of their ends, the lane, start and stop of each
    call for which there is a thread: where it can have begun first, of several the one that was free last."""
    called = np.full(len(rooms.lanes), -UNKNOWN)
    for place, start in enumerate(sent.start.tolist()):
        free = np.maximum(rooms.since[:, place], called)
        begun = np.maximum(free, start)
        thread = int(np.lexsort((-free, begun))[0])
        stop = int(rooms.until[thread, place])
        if begun[thread] < stop:
            called[thread] = stop
            yield place, int(rooms.lanes[thread]), int(begun[thread]), stop


def _spans(sent: Stays, groups: Integers, rows: Integers, calls: Integers) -> Spans:
    places, lane, begun, stop = calls.T
    rows = rows[places]
    flags, nothing = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    return Spans(
        worker=sent.worker[rows],
        task=sent.task[rows],
        prefix=sent.prefix[rows],
        group=groups[rows],
        lane=lane,
        action=np.full(len(rows), int(Action.COMPUTE), np.int64),
        is_error=flags,
        is_rescheduled=flags,
        nbytes=nothing,
        times=Intervals.of(begun, stop),
        recorded_start=begun,
        seceded=stop,
    )
