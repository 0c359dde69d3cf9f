"""Simulates a plan on workers, with Dask's rules of where tasks go as far as these matter.

A task goes to the worker among those with its data on which it would begin first (decide_worker_non_rootish);
tasks of large groups that need little stay with the scheduler until a worker has room (queuing); idle workers
steal tasks where these begin earlier then (WorkStealing). Times are seconds after the window's start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from observatory.why.critical_path.predecessors import NONE
from observatory.why.what_if.recorded.plan import Plan, mean_of_prefix
from observatory.why.what_if.recorded.rates import Rates
from observatory.why.what_if.recorded.required import supplied
from observatory.why.what_if.recorded.stalls import Stall
from observatory.why.what_if.simulation.conditions import Conditions
from observatory.why.what_if.simulation.locks import SimulatedLocks
from observatory.why.what_if.simulation.seceded_ends import Ending, SecededEnds
from observatory.why.what_if.simulation.stealing import is_unoccupied, next_balance
from observatory.why.what_if.simulation.workers import (
    Absence,
    AbsenceKind,
    SimulatedWorker,
    WorkerSpec,
    supplies,
)

SHORTEST_STOLEN = 0.005
"""seconds that a stolen task takes at least"""
LEAST_STOLEN_FROM = 0.2
"""seconds that the tasks of a worker are expected to take, from which others steal there"""


class Simulation:
    def __init__(
        self, plan: Plan, workers: Sequence[WorkerSpec], rates: Rates, conditions: Conditions
    ) -> None:
        self._rates, self._conditions = rates, conditions
        self._seconds = list(conditions.seconds)
        self._seconds_outside = plan.seconds_outside.tolist()
        self._ends = SecededEnds(plan.rests)
        self._ended: dict[int, float] = {}
        """when each computation ended"""
        self._expected = mean_of_prefix(plan.computing, self._seconds)
        self._nbytes = plan.computing.nbytes.tolist()
        self._is_queued = plan.is_queued.tolist()
        self._needs, self._dependents = plan.needs, plan.dependents
        self._missing = [len(needs) + 1 for needs in self._needs]  # 1: the submission
        self._holders: list[set[int]] = [set() for _ in self._needs]
        self._submissions = plan.submissions
        self._most_unfinished = plan.most_unfinished - 1
        """tasks that a client left unfinished as it submitted more"""
        self._submitted = 0
        self._is_submitting = False
        """the last of these is on its way"""
        self._unfinished = 0
        """tasks that were submitted and have not finished"""
        self._queue: list[int] = []
        self._required = supplied(plan.required, workers) if conditions.has_resources else {}
        self._workers = [
            SimulatedWorker(number, spec.threads, spec.resources) for number, spec in enumerate(workers)
        ]
        self._joined: list[SimulatedWorker] = []
        self._without_worker: list[int] = []
        """tasks that no worker was there for"""
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._decided = 0.0
        self._end = 0.0
        for number, spec in enumerate(workers):
            self._at(spec.joins, self._join, number)
            for absence in spec.absences:
                self._at(absence.start, self._be_absent, number, absence)
        self._is_stealing_due = False
        self._stalls = {place: stall for stall in conditions.stalls for place in stall.places}
        self._locks = SimulatedLocks(conditions.locks)

    def run(self) -> float:
        """Return when the last task ends (seconds after the window's start)."""
        self._submit_later(0.0)
        while self._events:
            time, _, handle, arguments = heappop(self._events)
            handle(time, *arguments)
        return self._end

    def _at(self, time: float, handle: Callable[..., None], *arguments: Any) -> None:
        self._count += 1
        heappush(self._events, (time, self._count, handle, arguments))

    def _decide(self, time: float) -> float:
        """When the scheduler has handled one more task."""
        self._decided = max(self._decided, time) + self._rates.deciding
        return self._decided

    def _submit_later(self, time: float) -> None:
        """Plans the next submission, if what it waits for has happened."""
        if self._is_submitting or self._submitted >= len(self._submissions):
            return
        submission = self._submissions[self._submitted]
        has_own_code = self._conditions.has_own_code
        if self._submitted in self._conditions.unwaited:
            self._plan_submission(time + self._conditions.unwaited[self._submitted])
            return
        if submission.waits and self._unfinished and (has_own_code or not submission.was_busy):
            return
        follows = submission.follows
        if follows != NONE and follows not in self._ended:
            return
        if not has_own_code and self._unfinished > self._most_unfinished:
            return
        is_client = submission.waits or follows != NONE or not self._submitted
        seconds = self._conditions.seconds_before(submission, is_client)
        since = time if follows == NONE else self._ended[follows]
        self._plan_submission(max(time, since + seconds))

    def _plan_submission(self, time: float) -> None:
        self._at(time, self._submit, self._submitted)
        self._unfinished += len(self._submissions[self._submitted].places)
        self._submitted += 1
        self._is_submitting = True

    def _submit(self, time: float, number: int) -> None:
        self._is_submitting = False
        self._submit_later(time)
        for place in self._submissions[number].places:
            self._arrive(time, place)

    def _arrive(self, time: float, place: int) -> None:
        """One more of what a task needs is there."""
        self._missing[place] -= 1
        if not self._missing[place]:
            self._assign(time, place)

    def _assign(self, time: float, place: int) -> None:
        held = self._held_by(place)
        if not any(self._can_have(place, one) for one in self._joined):
            self._without_worker.append(place)
        elif held is not None:
            self._send(time, place, held)
        elif self._is_queued[place]:
            heappush(self._queue, place)
            self._send_queued(time)
        else:
            self._send(time, place, self._best(place))

    def _held_by(self, place: int) -> SimulatedWorker | None:
        number = self._conditions.held.get(place)
        return self._workers[number] if number is not None and self._workers[number].is_there else None

    def _send_queued(self, time: float) -> None:
        while self._queue:
            with_room = [one for one in self._joined if one.has_room]
            if not with_room:
                return
            best = min(with_room, key=lambda one: one.processing / one.threads)
            self._send(time, heappop(self._queue), best)

    def _best(self, place: int) -> SimulatedWorker:
        """SchedulerState.worker_objective: where the task would begin first."""
        holders = {number for one in self._needs[place] for number in self._holders[one]}
        there = [self._workers[number] for number in holders if self._workers[number].is_there]
        candidates = [one for one in there if self._can_have(place, one)]
        if not candidates or place in self._conditions.spread:
            candidates = [one for one in self._joined if self._can_have(place, one)]
        return min(candidates, key=lambda one: (self._begins(place, one), one.processing, one.number))

    def _can_have(self, place: int, worker: SimulatedWorker) -> bool:
        """Whether a worker has the resources that a task requires, taken or not."""
        return place not in self._required or supplies(worker.resources, self._required[place])

    def _begins(self, place: int, worker: SimulatedWorker) -> float:
        return worker.occupancy / worker.threads + self._fetch_seconds(place, worker)

    def _fetch_seconds(self, place: int, worker: SimulatedWorker) -> float:
        if not self._conditions.moves_data:
            return 0.0
        missing = [self._nbytes[one] for one in self._needs[place] if worker.number not in self._holders[one]]
        return self._rates.fetching + sum(missing) / self._rates.bandwidth if missing else 0.0

    def _send(self, time: float, place: int, worker: SimulatedWorker) -> None:
        worker.processing += 1
        worker.occupancy += self._expected[place]
        worker.sent.add(place)
        self._at(time, self._receive, place, worker.number, worker.life)

    def _receive(self, time: float, place: int, number: int, life: int) -> None:
        """A task is on its worker, which fetches what the task needs of each other worker at once."""
        worker = self._workers[number]
        if worker.life != life or place not in worker.sent:
            return
        latest, nbytes = time, dict[int, int]()
        for one in self._needs[place]:
            if number in self._holders[one] or not self._conditions.moves_data:
                continue
            if one in worker.fetching:
                latest = max(latest, worker.fetching[one])
                continue
            peer = min(self._holders[one])
            nbytes[peer] = nbytes.get(peer, 0) + self._nbytes[one]
            worker.fetching[one] = time + self._rates.fetching + nbytes[peer] / self._rates.bandwidth
            latest = max(latest, worker.fetching[one])
        if latest > time:
            self._at(latest, self._fetched, place, number, life)
        else:
            self._be_ready(time, place, worker)

    def _fetched(self, time: float, place: int, number: int, life: int) -> None:
        worker = self._workers[number]
        if worker.life != life or place not in worker.sent:
            return
        for one in self._needs[place]:
            self._holders[one].add(number)
            worker.fetching.pop(one, None)
        self._be_ready(time, place, worker)

    def _be_ready(self, time: float, place: int, worker: SimulatedWorker) -> None:
        worker.put_in_line(place, self._required.get(place))
        self._begin(time, worker)
        if worker.has_line and not self._is_stealing_due:
            self._is_stealing_due = True
            self._at(next_balance(time), self._steal)

    def _is_stalled(self, time: float, worker: SimulatedWorker) -> bool:
        """At a time at which one of its threads is free."""
        stall = next((self._stalls[one] for one in worker.first_in_lines if one in self._stalls), None)
        if stall is not None:
            self._stall(time, stall, worker)
        return time < worker.stalled_until

    def _stall(self, time: float, stall: Stall, worker: SimulatedWorker) -> None:
        for place in stall.places:
            self._stalls.pop(place, None)
        worker.stalled_until = max(worker.stalled_until, time + stall.seconds)
        self._at(worker.stalled_until, self._begin, worker)

    def _begin(self, time: float, worker: SimulatedWorker) -> None:
        while worker.idle and worker.is_there and not self._is_stalled(time, worker):
            place = worker.next_in_line(self._required)
            if place is None:
                return
            worker.idle -= 1
            worker.running.add(place)
            then = self._acquire if place in self._locks else self._leave
            self._at(time + self._seconds[place], then, place, worker.number, worker.life)

    def _acquire(self, time: float, place: int, number: int, life: int) -> None:
        """A task wants a lock, which it holds until its end; its thread waits with it."""
        if self._workers[number].life != life:
            return
        self._at(self._locks.acquire(time, place), self._leave, place, number, life)

    def _leave(self, time: float, place: int, number: int, life: int) -> None:
        """A task needs its thread no more: it has finished, or seceded."""
        if self._workers[number].life != life:
            return
        self._at(time + self._rates.turning, self._free, number, life)
        outside = self._seconds_outside[place]
        if self._ends.waits(place):
            self._end_seceded(time, self._ends.left(place, number, life))
        elif outside:
            self._at(time + outside, self._finish, place, number, life)
        else:
            self._finish(time, place, number, life)

    def _end_seceded(self, time: float, ending: Iterable[Ending]) -> None:
        for place, number, life, seconds in ending:
            self._at(time + seconds, self._finish, place, number, life)

    def _finish(self, time: float, place: int, number: int, life: int) -> None:
        worker = self._workers[number]
        if worker.life != life:
            return
        self._end = max(self._end, time)
        self._ended[place] = time
        self._is_stalled(time, worker)
        self._end_seceded(time, self._ends.ended(place))
        worker.sent.discard(place)
        worker.running.discard(place)
        worker.give_back(self._required.get(place))
        if not worker.unreported:
            self._at(max(time, worker.stalled_until) + self._rates.sending, self._report, number)
        worker.unreported.append((place, life))

    def _report(self, time: float, number: int) -> None:
        """A worker tells the scheduler of all that has finished, and gets what is queued in its place."""
        worker = self._workers[number]
        finished, worker.unreported = worker.unreported, []
        for place, life in finished:
            self._at(self._decide(time), self._handle_finished, place, number, life)

    def _free(self, time: float, number: int, life: int) -> None:
        worker = self._workers[number]
        if worker.life == life:
            worker.idle += 1
            self._begin(time, worker)

    def _handle_finished(self, time: float, place: int, number: int, life: int) -> None:
        """The scheduler knows that a task finished."""
        worker = self._workers[number]
        if worker.life == life:
            worker.processing -= 1
            worker.occupancy = max(0.0, worker.occupancy - self._expected[place])
        self._holders[place].add(number)
        self._unfinished -= 1
        for dependent in self._dependents[place]:
            self._arrive(time, dependent)
        self._send_queued(time)
        self._submit_later(time)

    def _join(self, time: float, number: int) -> None:
        worker = self._workers[number]
        worker.idle = worker.threads
        self._be_there(time, worker)

    def _be_there(self, time: float, worker: SimulatedWorker) -> None:
        worker.is_there = True
        self._joined.append(worker)
        self._begin(time, worker)
        waiting, self._without_worker = self._without_worker, []
        for place in waiting:
            self._assign(time, place)
        self._send_queued(time)

    def _be_absent(self, time: float, number: int, absence: Absence) -> None:
        worker = self._workers[number]
        if not worker.is_there:
            return
        worker.is_there = False
        self._joined.remove(worker)
        if absence.kind is not AbsenceKind.PAUSED:
            self._give_back(time, worker, absence.kind is AbsenceKind.DIED)
        if absence.stop < math.inf:
            self._at(absence.stop, self._return, number)

    def _return(self, time: float, number: int) -> None:
        self._be_there(time, self._workers[number])

    def _give_back(self, time: float, worker: SimulatedWorker, has_died: bool) -> None:
        """The scheduler sends tasks of a worker that is gone to others."""
        places = sorted(worker.sent if has_died else worker.sent - worker.running)
        worker.sent.difference_update(places)
        worker.ready.clear()
        worker.constrained.clear()
        if has_died:
            worker.life += 1
            worker.idle, worker.processing, worker.occupancy = worker.threads, 0, 0.0
            worker.running.clear()
            worker.taken.clear()
            worker.fetching.clear()
        for place in places:
            if not has_died:
                worker.processing -= 1
                worker.occupancy = max(0.0, worker.occupancy - self._expected[place])
            self._assign(time, place)

    def _steal(self, time: float) -> None:
        """WorkStealing.balance: workers with little to do take tasks that would begin earlier there."""
        threads = sum(one.threads for one in self._joined)
        usual = sum(one.occupancy for one in self._joined) / max(threads, 1)  # what moves stays in the sum
        thieves, victims = list[SimulatedWorker](), list[SimulatedWorker]()
        for one in self._joined:
            if is_unoccupied(one, usual):
                thieves.append(one)
            elif one.has_line and one.occupancy > LEAST_STOLEN_FROM and time >= one.stalled_until:
                victims.append(one)
        for thief in sorted(thieves, key=lambda one: one.occupancy):
            self._steal_for(time, thief, victims, usual)
        self._is_stealing_due = any(one.has_line for one in self._workers)
        if self._is_stealing_due:
            self._at(next_balance(time), self._steal)

    def _steal_for(
        self, time: float, thief: SimulatedWorker, victims: Sequence[SimulatedWorker], usual: float
    ) -> None:
        for victim in sorted(victims, key=lambda one: -one.occupancy):
            for place in sorted(victim.in_line, reverse=True):
                if not is_unoccupied(thief, usual):
                    return
                is_free = self._held_by(place) is None and self._can_have(place, thief)
                if is_free and self._is_worth(place, thief, victim):
                    self._move(time, place, victim, thief)

    def _move(self, time: float, place: int, victim: SimulatedWorker, thief: SimulatedWorker) -> None:
        victim.take_out_of_line(place)
        victim.sent.discard(place)
        victim.processing -= 1
        victim.occupancy = max(0.0, victim.occupancy - self._expected[place])
        self._send(self._decide(time), place, thief)

    def _is_worth(self, place: int, thief: SimulatedWorker, victim: SimulatedWorker) -> bool:
        expected = self._expected[place]
        if expected < SHORTEST_STOLEN:
            return False
        takes = expected + self._fetch_seconds(place, thief)
        return thief.occupancy + takes <= victim.occupancy - expected / 2
