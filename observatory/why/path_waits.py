"""Where tasks were, and what they waited for, going back in time from the start of their computation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Literal

import numpy as np

from observatory.why.assignments import CLOCKS, PROCESSING
from observatory.why.intervals import Intervals
from observatory.why.records import Records, Transitions
from observatory.why.thread_kinds import ThreadKind
from observatory.why.thread_time import ACTIONS, RowsByWorker
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


class StaysOfTasks:
    """Finds the states in which a task was before a time."""

    def __init__(self, rows: Transitions, start: int) -> None:
        """`start`: of the window, since which a task had the state that its first transition leaves."""
        order = np.argsort(rows.task, kind="stable")
        self._start = start
        self._task, self._time = rows.task[order], rows.time[order]
        self._left, self._reached = rows.start[order].astype(np.int8), rows.finish[order].astype(np.int8)
        self._worker = rows.worker[order]

    def before(self, task: int, time: int, worker: int) -> Iterator[tuple[int, int, int]]:
        """Yield (state, worker, since when) backwards, from the time that it was processed by `worker`."""
        known = self._of(task)
        place = bisect_right(known, time + CLOCKS, key=itemgetter(2)) - 1
        while place >= 0 and known[place][:2] != (PROCESSING, worker):
            place -= 1
        for one in range(place, -1, -1):
            yield known[one]

    def _of(self, task: int) -> list[tuple[int, int, int]]:
        """(state, worker, since when) in order of time."""
        first, last = int(self._task.searchsorted(task)), int(self._task.searchsorted(task, "right"))
        if first == last:
            return []
        workers, times = self._worker[first:last].tolist(), self._time[first:last].tolist()
        reached = list(zip(self._reached[first:last].tolist(), workers, times, strict=True))
        if any(times[place] > times[place + 1] for place in range(len(times) - 1)):
            order = sorted(range(len(times)), key=times.__getitem__)
            reached, first = [reached[place] for place in order], first + order[0]
        left = int(self._left[first])
        return [(left, reached[0][1], self._start), *reached]


class WaitsOfWorkers:
    """What went on at a worker while a task waited there."""

    def __init__(self, records: Records) -> None:
        others = records.spans.where(records.spans.action != Action.COMPUTE)
        self._spans = others.where(np.lexsort((others.times.start, others.task)))
        rows = RowsByWorker(records.transfers.worker)
        self._received = {
            worker: records.transfers.times.where(rows(worker)).union()
            for worker in np.unique(records.transfers.worker).tolist()
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
        """[start, stop) divided by whether the worker received data; the latest first."""
        received = self._received.get(worker, _NEVER)
        first = int(received.stop.searchsorted(start, side="right"))
        last = int(received.start.searchsorted(stop, side="left"))
        for place in range(last - 1, first - 1, -1):
            begin, end = max(start, int(received.start[place])), min(stop, int(received.stop[place]))
            yield ThreadKind.READY, end, stop
            yield ThreadKind.TRANSFER, begin, end
            stop = begin
        yield ThreadKind.READY, start, stop


_NEVER = Intervals.none()
