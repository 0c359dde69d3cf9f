"""Where tasks were, and what they waited for, going back in time from the start of their computation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Literal

import numpy as np

from observatory.why.intervals import Integers, Intervals
from observatory.why.records import OfWorkers, Records, RowsByWorker, Transitions
from observatory.why.thread_times.assignments import PROCESSING
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import ACTIONS
from observatory.wire.records import Action

KINDS = {
    int(action): kind
    for kind, actions in {ThreadKind.TRANSFER: (Action.TRANSFER,), **ACTIONS}.items()
    for action in actions
}
"""what a span that isn't computing is"""
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
Wait = tuple[ThreadKind, int, int]
"""kind, start, stop (microseconds)"""


BITS = 16
"""of a task's hash, by which rows are sorted: numpy sorts no more than these in linear time"""


class RowsOfTasks:
    """Finds the rows of a task."""

    def __init__(self, tasks: Integers) -> None:
        self._tasks = tasks
        bits = (tasks >> (64 - BITS)).astype(np.int16)
        self._order: Integers = np.argsort(bits, kind="stable")
        self._begins = np.searchsorted(bits[self._order], np.arange(2**BITS + 1) - 2 ** (BITS - 1)).tolist()

    def __call__(self, task: int) -> Integers:
        at = (task >> (64 - BITS)) + 2 ** (BITS - 1)
        rows: Integers = self._order[self._begins[at] : self._begins[at + 1]]
        found: Integers = rows[self._tasks[rows] == task]
        return found


class StaysOfTasks:
    """Finds the states in which a task was before a time."""

    def __init__(self, rows: Transitions, start: int) -> None:
        """`start`: of the window, since which a task had the state that its first transition leaves."""
        self._rows, self._start = rows, start
        self._rows_of = RowsOfTasks(rows.task)

    def before(self, task: int, latest: int, worker: int) -> Iterator[tuple[int, int, int]]:
        """Yield (state, worker, since when) backwards, from the time that it was processed by `worker`.

        `latest`: when it can have begun there.
        """
        known = self._of(task)
        place = bisect_right(known, latest, key=itemgetter(2)) - 1
        while place >= 0 and known[place][:2] != (PROCESSING, worker):
            place -= 1
        for one in range(place, -1, -1):
            yield known[one]

    def _of(self, task: int) -> list[tuple[int, int, int]]:
        """(state, worker, since when) in order of time."""
        rows, places = self._rows, self._rows_of(task)
        if not len(places):
            return []
        places = places[np.argsort(rows.time[places], kind="stable")]
        columns = (rows.finish, rows.worker, rows.time)
        reached = list(zip(*(column[places].tolist() for column in columns), strict=True))
        return [(int(rows.start[places[0]]), reached[0][1], self._start), *reached]


class WaitsOfWorkers:
    """What went on at a worker while a task waited there."""

    def __init__(self, records: Records) -> None:
        others = records.spans.where(records.spans.action != Action.COMPUTE)
        self._spans = others.where(np.lexsort((others.times.start, others.task)))
        self._of_workers = {
            ThreadKind.PAUSED: _by_worker(records.pauses),
            ThreadKind.TRANSFER: _by_worker(records.transfers),
            ThreadKind.OTHER_RUNS: _by_worker(records.others),
        }

    def of_task(self, worker: int, task: int, sent: int, time: int) -> list[Wait]:
        """What was done for the task itself in [sent, time), the latest first."""
        first, last = (int(self._spans.task.searchsorted(task, side)) for side in SIDES)
        found: list[Wait] = []
        for place in range(last - 1, first - 1, -1):
            start, stop = int(self._spans.times.start[place]), int(self._spans.times.stop[place])
            if self._spans.worker[place] == worker and start < time and stop > sent:
                found.append((KINDS[int(self._spans.action[place])], max(start, sent), min(stop, time)))
        return found

    def split(self, worker: int, start: int, stop: int) -> Iterator[Wait]:
        """[start, stop), the latest first: the worker was paused, received data or ran tasks of others."""
        kinds = [(kind, times.get(worker, _NEVER)) for kind, times in self._of_workers.items()]
        return divided(start, stop, kinds, ThreadKind.READY)


def divided(
    start: int, stop: int, kinds: Sequence[tuple[ThreadKind, Intervals]], rest: ThreadKind
) -> Iterator[Wait]:
    """[start, stop) by the first of the kinds at each instant, or by `rest`; the latest first."""
    if not kinds:
        yield rest, start, stop
        return
    kind, times = kinds[0]
    for is_it, begin, end in times.divided(start, stop):
        if is_it:
            yield kind, begin, end
        elif begin < end:
            yield from divided(begin, end, kinds[1:], rest)


_NEVER = Intervals.none()


def _by_worker(intervals: OfWorkers) -> dict[int, Intervals]:
    rows = RowsByWorker(intervals.worker)
    workers = np.unique(intervals.worker).tolist()
    return {worker: intervals.times.where(rows(worker)).union() for worker in workers}
