"""The critical path of a window: from its last task backwards, what each step had to wait for.

A last-arrival path: of all that a task needed before it could begin (its dependencies, its data, a thread,
the scheduler, the client) the one that came last. Its pieces follow each other without a gap, so their
lengths add up to the window's. docs/why.md has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from observatory.why.clocks import UNKNOWN, reported_times
from observatory.why.critical_path.hindrances import Hindrances
from observatory.why.critical_path.predecessors import NONE, LastEnded, needed_computations, previous_of
from observatory.why.critical_path.room import Room
from observatory.why.critical_path.waits import RowsOfTasks, StaysOfTasks, WaitsOfWorkers
from observatory.why.intervals import Integers, Intervals
from observatory.why.records import Graph, Records
from observatory.why.thread_times.assignments import (
    MEMORY,
    NO_WORKER,
    PROCESSING,
    QUEUED,
    WAITING,
    is_repeated,
    stays,
    unfinished,
)
from observatory.why.thread_times.cluster_kinds import ClusterKinds
from observatory.why.thread_times.kinds import ThreadKind

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
        self.start, self.stop = records.start, records.stop
        known = stays(records)
        self._cluster = ClusterKinds.of(records, known, unfinished(records, known))
        computing = records.spans.computing
        self._recorded = len(computing)
        self.computing = computing.and_these(records.unfinished)
        self._room = Room(records, self.computing)
        self._hindrances = Hindrances(records, known, self._room.full)
        times = self.computing.times
        self._began, self._ended = times.start, times.stop
        self._is_repeated = is_repeated(self.computing)
        self._error = records.clock_errors_of(self.computing.worker)
        self.needed = needed_computations(self.computing, graph, self._error)
        self.previous = previous_of(self.computing.lane, self.computing.times.start)
        self._heard = self._heard_of(records)
        self._last = LastEnded(np.zeros(len(self.computing), np.int64), self._heard)
        self._last_on_worker = LastEnded(self.computing.worker, self._heard)
        self._stays = StaysOfTasks(records.transitions, records.start)
        self._waits = WaitsOfWorkers(records)
        self._workers = {one.id: one for one in records.workers}
        self._pieces: list[Piece] = []

    def _heard_of(self, records: Records) -> Integers:
        """When the scheduler heard that each computation had ended, or the earliest time that it can have."""
        reported = reported_times(self.computing, records.transitions)
        return np.where(reported < UNKNOWN, reported, self._ended - self._error)

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
        while place != NONE and time > self.start:
            began = int(self._began[place])
            self._add_computation(place, began, time)
            place, time = self._before(place, min(began, time))
        self._add(ThreadKind.NOTHING, self.start, time, NONE)
        return self._pieces[::-1]

    def _final(self) -> int:
        if not len(self.computing):
            return NONE
        ended = np.minimum(self._ended, self.stop)
        last = np.flatnonzero(ended == ended.max())
        return int(last[self._began[last].argmin()])

    def _add_computation(self, place: int, began: int, time: int) -> None:
        """A task that has seceded waits for others as a rule: while these compute, or threads are idle."""
        seceded = max(began, min(int(self.computing.seceded[place]), time))
        for is_computing, start, stop in self._in_pool.divided(seceded, time) if seceded < time else ():
            self._add(ThreadKind.COMPUTING if is_computing else ThreadKind.NOTHING, start, stop, place)
        self._add(self._kind(place), began, seceded, place)

    @cached_property
    def _in_pool(self) -> Intervals:
        """While any thread computed."""
        return self.computing.in_pool.union()

    def is_unfinished(self, place: int) -> bool:
        """Whether a computation has no span: it did not finish in the window."""
        return place >= self._recorded

    def has_span(self, place: int) -> bool:
        """Whether its span was recorded: there is none of calls that raised `Reschedule` either."""
        return not self.is_unfinished(place) and not self.computing.is_rescheduled[place]

    def _kind(self, place: int) -> ThreadKind:
        if self.is_unfinished(place):
            return ThreadKind.UNFINISHED
        if self.computing.is_error[place]:
            return ThreadKind.FAILED
        return ThreadKind.RECOMPUTING if self._is_repeated[place] else ThreadKind.COMPUTING

    def _add(self, kind: ThreadKind, start: int, stop: int, place: int) -> None:
        start = max(start, self.start)
        parts = self._cluster.kinds_in(start, stop) if kind is ThreadKind.NOTHING else [(kind, start, stop)]
        for part, first, last in parts if start < stop else ():
            if part is not ThreadKind.SCHEDULER:
                self._add_piece(part, first, last, place)
                continue
            for hindered, begin, end in self._hindrances.parts(first, last):
                self._add_piece(hindered, begin, end, place)

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
        after, lost = NONE, ThreadKind.NOTHING
        latest = int(self._began[place] + self._error[place])
        for state, on, began in self._stays.before(task, latest, worker):
            found = NONE
            if state == PROCESSING and after == NONE:
                found, time = self._on_worker(place, began, time)
            elif state == after == PROCESSING:  # it was stolen when there was room
                freed = self._ended_before(self._last_on_worker, worker, time)
                found, time = self._at_scheduler(place, freed, began, time, ThreadKind.NOTHING)
            elif state == PROCESSING:
                found, time = self._before_this_attempt(place, on, began, time)
            elif state in (QUEUED, NO_WORKER):
                found, time = self._queued(place, worker, began, time)
            elif state == WAITING:
                found, time = self._at_scheduler(place, self._waited_for(place, time), began, time)
            elif time > began:
                lost = ThreadKind.OTHERS if state == MEMORY else ThreadKind.NOTHING
                break
            if found != NONE or time <= self.start:
                return found, time
            after = state
        return self._unrecorded(place, time) if after == NONE else self._submitted(place, time, lost)

    def _on_worker(self, place: int, sent: int, time: int) -> tuple[int, int]:
        """A task waited on its worker: for its data, for a thread, or for the event loop."""
        worker, task = int(self.computing.worker[place]), int(self.computing.task[place])
        before = int(self.previous[place])
        if before != NONE and self._began[before] >= time:
            before = NONE
        since = sent if before == NONE else max(sent, min(int(self._ended[before]), time))
        # until then its thread computed something else
        start = time
        for kind, begin, end in self._waits.of_task(worker, task, since, time):
            self._wait(place, worker, min(end, start), start)
            self._add(kind, begin, min(end, start), place)
            start = min(begin, start)
        self._wait(place, worker, since, start)
        return (before, since) if since > sent else (NONE, min(sent, time))

    def _before_this_attempt(self, place: int, on: int, sent: int, time: int) -> tuple[int, int]:
        """A task was on a worker before: it failed there, or was lost with it."""
        failed = self._attempt_before(int(self.computing.task[place]), on, time)
        if failed != NONE and self._heard[failed] >= sent:
            return self._at_scheduler(place, failed, sent, time)
        has_died = on in self._workers and self._workers[on].has_ended
        for kind, begin, end in self._waits.split(on, sent, time) if has_died else ():
            self._add(kind if kind is ThreadKind.PAUSED else ThreadKind.LOST, begin, end, place)
        if not has_died:
            self._add(ThreadKind.READY, sent, time, place)
        return NONE, min(sent, time)

    def _attempt_before(self, task: int, on: int, time: int) -> int:
        places = self._attempts(task)
        places = places[(self._began[places] < time) & (self._heard[places] <= time)]
        places = places[self.computing.worker[places] == on]
        return int(places[self._heard[places].argmax()]) if len(places) else NONE

    def _wait(self, place: int, worker: int, start: int, stop: int) -> None:
        for kind, begin, end in self._waits.split(worker, start, stop):
            self._add(kind, begin, end, place)

    def _queued(self, place: int, worker: int, began: int, time: int) -> tuple[int, int]:
        """A task could run since `began`, and was sent when a task of its worker had ended, or it joined."""
        freed = self._ended_before(self._last_on_worker, worker, time)
        life = self._workers.get(worker)
        if life is not None and freed == NONE and began < life.start < time:
            self._add(ThreadKind.SCHEDULER, life.start, time, place)
            time = max(began, life.begun)
            self._add(ThreadKind.STARTING, time, life.start, place)
            freed = self._ended_before(self._last, 0, time)
        return self._at_scheduler(place, freed, began, time)

    def _at_scheduler(
        self, place: int, found: int, began: int, time: int, kind: ThreadKind = ThreadKind.SCHEDULER
    ) -> tuple[int, int]:
        """A task was with the scheduler since `began`, the last part of it after `found` had ended.

        Where all threads computed meanwhile, it waited for the last one of these.
        """
        if found == NONE or self._heard[found] <= began:
            found, ended = NONE, min(began, time)
        else:
            ended = min(int(self._ended[found]), time)
        last, freed = self._room.made(time)
        if freed > ended and last != NONE and self._began[last] < freed:
            found, ended = last, freed
        self._add(kind, ended, time, place)
        return found, ended

    def _submitted(self, place: int, time: int, kind: ThreadKind) -> tuple[int, int]:
        """A task was submitted at `time`: the client may have waited for what had ended last."""
        found = self._ended_before(self._last, 0, time)
        ended = self.start if found == NONE else min(time, int(self._ended[found]))
        self._add(kind, ended, time, place)
        return found, ended

    def _unrecorded(self, place: int, time: int) -> tuple[int, int]:
        """Where a task was before isn't known: for its thread, what it needed, or another one."""
        before, found = int(self.previous[place]), self._waited_for(place, time)
        if before != NONE and time - SHORT_GAP <= self._ended[before]:
            # unless another one took all of the time since
            is_between = found != NONE and self._began[found] + self._error[found] >= self._ended[before]
            found = found if is_between else before
        elif not len(self.needed.of(place)):
            found = self._nearer_end(place, found, time)
        ended = self.start if found == NONE else min(time, int(self._ended[found]))
        self._add(ThreadKind.NOTHING, ended, time, place)
        return found, ended

    def _nearer_end(self, place: int, found: int, time: int) -> int:
        """The computation that by its clock ended less after `time` than `found` did before, else `found`.

        A clock explains at most that each of two that follow each other overlaps the other by half.
        """
        gap = time - (self.start if found == NONE else int(self._ended[found]))
        most = min(gap, int(self._ended[place] - self._began[place]) // 2)
        later = self._last.between(0, time, time + most)
        middle = (self._began[later] + self._ended[later]) // 2
        later = later[(middle <= time) & (later != place)]
        return int(later[0]) if len(later) else found

    def _waited_for(self, place: int, time: int) -> int:
        """What the task needed last; where that isn't known, what had ended last in the cluster."""
        found, last = NONE, self.start
        for needed in self.needed.of(place).tolist():
            heard = self._heard.item(needed)
            if self._began.item(needed) < time and (found == NONE or heard > last):
                found, last = needed, heard
        return found if found != NONE else self._ended_before(self._last, 0, time)

    def _ended_before(self, last: LastEnded, owner: int, time: int) -> int:
        return next((one for one in last.each(owner, time) if self._began[one] < time), NONE)
