"""The critical path of a window: from its last task backwards, what each step had to wait for.

A last-arrival path: of all that a task needed before it could begin (its dependencies, its data, a thread,
the scheduler, the client) the one that came last. Its pieces follow each other without a gap, so their
lengths add up to the window's. docs/why.md has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from observatory.why.critical_path.predecessors import NONE, LastEnded, needed_computations, previous_of
from observatory.why.critical_path.waits import RowsOfTasks, StaysOfTasks, WaitsOfWorkers
from observatory.why.records import Graph, Records
from observatory.why.thread_times.assignments import (
    CLOCKS,
    MEMORY,
    NO_WORKER,
    PROCESSING,
    QUEUED,
    WAITING,
    is_repeated,
)
from observatory.why.thread_times.kinds import ThreadKind
from observatory.wire.records import Action

SHORT_GAP = 20_000
"""microseconds. Where no transitions are recorded, a task that begins so soon after another one on its thread
waited for it."""


@dataclass(frozen=True, slots=True)
class Piece:
    kind: ThreadKind
    start: int
    stop: int
    """microseconds"""
    place: int
    """of the computation that computes or waits; NONE: there is none"""


class CriticalPath:
    """Finds the critical path of the records of a window."""

    def __init__(self, records: Records, graph: Graph) -> None:
        self._start, self.stop = records.start, records.stop
        self._clients = records.clients
        self.computing = records.spans.where(records.spans.action == Action.COMPUTE)
        times = self.computing.times
        self._began, self._ended = times.start, times.stop
        self._is_repeated = is_repeated(self.computing)
        self.needed = needed_computations(self.computing, graph)
        self.previous = previous_of(self.computing.lane, self.computing.times.start)
        self._last = LastEnded(np.zeros(len(self.computing), np.int64), self._ended)
        self._last_on_worker = LastEnded(self.computing.worker, self._ended)
        self._stays = StaysOfTasks(records.transitions, records.start)
        self._waits = WaitsOfWorkers(records)
        self._died = {one.id for one in records.workers if one.has_ended}
        self._pieces: list[Piece] = []

    @cached_property
    def _attempts(self) -> RowsOfTasks:
        return RowsOfTasks(self.computing.task)

    def pieces(self) -> list[Piece]:
        """Return the pieces in order of time; together they are the window."""
        self._pieces = []
        time = self.stop
        place = self._final()
        if place != NONE:
            time = min(time, int(self._ended[place]))
        self._add(ThreadKind.NOTHING, time, self.stop, NONE)
        while place != NONE and time > self._start:
            began = int(self._began[place])
            self._add(self._kind(place), began, time, place)
            place, time = self._before(place, min(began, time))
        self._add(ThreadKind.NOTHING, self._start, time, NONE)
        return self._pieces[::-1]

    def _final(self) -> int:
        if not len(self.computing):
            return NONE
        ended = np.minimum(self._ended, self.stop)
        last = np.flatnonzero(ended == ended.max())
        return int(last[self._began[last].argmin()])

    def _kind(self, place: int) -> ThreadKind:
        if self.computing.is_error[place]:
            return ThreadKind.FAILED
        return ThreadKind.RECOMPUTING if self._is_repeated[place] else ThreadKind.COMPUTING

    def _add(self, kind: ThreadKind, start: int, stop: int, place: int) -> None:
        start = max(start, self._start)
        if kind is not ThreadKind.NOTHING:
            self._add_piece(kind, start, stop, place)
        elif start < stop:
            for part, first, last in self._clients.parts(start, stop):
                self._add_piece(part, first, last, place)

    def _add_piece(self, kind: ThreadKind, start: int, stop: int, place: int) -> None:
        if start >= stop:
            return
        if self._pieces and (after := self._pieces[-1]).kind == kind and after.place == place:
            self._pieces[-1] = Piece(kind, start, after.stop, place)
        else:
            self._pieces.append(Piece(kind, start, stop, place))

    def _before(self, place: int, time: int) -> tuple[int, int]:
        """What a computation waited for before `time`: another computation, and when that ended."""
        worker, task = int(self.computing.worker[place]), int(self.computing.task[place])
        is_first, lost = True, ThreadKind.NOTHING
        for state, on, began in self._stays.before(task, time, worker):
            found = NONE
            if state == PROCESSING and is_first:
                found, time = self._on_worker(place, began, time)
            elif state == PROCESSING:
                found, time = self._before_this_attempt(place, on, began, time)
            elif state in (QUEUED, NO_WORKER):
                freed = self._ended_before(self._last_on_worker, worker, time)
                found, time = self._at_scheduler(place, freed, began, time)
            elif state == WAITING:
                found, time = self._at_scheduler(place, self._last_needed(place, time), began, time)
            elif time - began > CLOCKS:
                lost = ThreadKind.OTHERS if state == MEMORY else ThreadKind.NOTHING
                break
            if found != NONE or time <= self._start:
                return found, time
            is_first = False
        return self._unrecorded(place, time) if is_first else self._submitted(place, time, lost)

    def _on_worker(self, place: int, sent: int, time: int) -> tuple[int, int]:
        """A task waited on its worker: for its data, for a thread, or for the event loop."""
        worker, task = int(self.computing.worker[place]), int(self.computing.task[place])
        own = self._waits.of_task(worker, task, sent, time)
        before = int(self.previous[place])
        freed = int(self._ended[before]) if before != NONE else self._start
        if before != NONE and sent < freed <= time and (not own or freed >= own[0][2]):
            self._wait(place, worker, freed, time)
            return before, freed
        for kind, start, stop in own:
            self._wait(place, worker, stop, time)
            self._add(kind, start, min(stop, time), place)
            time = min(start, time)
        self._wait(place, worker, sent, time)
        return NONE, min(sent, time)

    def _before_this_attempt(self, place: int, on: int, sent: int, time: int) -> tuple[int, int]:
        """A task was on a worker before: it failed there, was stolen from it, or lost with it."""
        failed = self._attempt_before(int(self.computing.task[place]), time)
        if failed != NONE and self._began[failed] >= sent - CLOCKS:
            return self._at_scheduler(place, failed, sent, time)
        self._add(ThreadKind.LOST if on in self._died else ThreadKind.READY, sent, time, place)
        return NONE, min(sent, time)

    def _attempt_before(self, task: int, time: int) -> int:
        places = self._attempts(task)
        places = places[(self._began[places] < time) & (self._ended[places] <= time + CLOCKS)]
        return int(places[self._ended[places].argmax()]) if len(places) else NONE

    def _wait(self, place: int, worker: int, start: int, stop: int) -> None:
        for kind, begin, end in self._waits.split(worker, start, stop):
            self._add(kind, begin, end, place)

    def _at_scheduler(self, place: int, found: int, began: int, time: int) -> tuple[int, int]:
        """A task was with the scheduler since `began`, the last part of it after `found` had ended."""
        ended = int(self._ended[found]) if found != NONE else began - CLOCKS
        if ended <= began - CLOCKS:
            self._add(ThreadKind.SCHEDULER, began, time, place)
            return NONE, min(began, time)
        ended = min(ended, time)
        self._add(ThreadKind.SCHEDULER, ended, time, place)
        return found, ended

    def _submitted(self, place: int, time: int, kind: ThreadKind) -> tuple[int, int]:
        """A task was submitted at `time`: the client may have waited for what had ended last."""
        found = self._ended_before(self._last, 0, time)
        ended = self._start if found == NONE else min(time, int(self._ended[found]))
        self._add(kind, ended, time, place)
        return found, ended

    def _unrecorded(self, place: int, time: int) -> tuple[int, int]:
        """Where a task was before isn't known: for its thread, what it needed, or another one."""
        before, needed = int(self.previous[place]), self._last_needed(place, time)
        if before != NONE and time - SHORT_GAP <= self._ended[before] <= time:
            found = before
        else:
            found = needed if needed != NONE else self._ended_before(self._last, 0, time)
        ended = self._start if found == NONE else min(time, int(self._ended[found]))
        self._add(
            ThreadKind.READY if found != NONE and found in (before, needed) else ThreadKind.NOTHING,
            ended,
            time,
            place,
        )
        return found, ended

    def _last_needed(self, place: int, time: int) -> int:
        found, last = NONE, time + CLOCKS
        for needed in self.needed.of(place).tolist():
            ended = self._ended.item(needed)
            is_before = self._began.item(needed) < time and ended <= last
            if is_before and (found == NONE or ended > self._ended.item(found)):
                found = needed
        return int(found)

    def _ended_before(self, last: LastEnded, owner: int, time: int) -> int:
        for tolerance in (CLOCKS, 0):
            found = last.one(owner, time + tolerance)
            if found != NONE and self._began[found] < time:
                return found
        return NONE
