"""What somebody asks to be different, and how long the window would have taken then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from observatory.why.intervals import Flags, Numbers
from observatory.why.records import Records
from observatory.why.what_if.doubt import FURTHEST, Predicted
from observatory.why.what_if.recorded.client_rounds import ClientRound, client_rounds
from observatory.why.what_if.recorded.leases import Leases
from observatory.why.what_if.recorded.plan import Plan
from observatory.why.what_if.recorded.rates import AT_ONCE, Rates, Spilling
from observatory.why.what_if.recorded.stalls import Stall
from observatory.why.what_if.recorded.workers import recorded_workers, with_one_that_stays
from observatory.why.what_if.simulation.conditions import Conditions
from observatory.why.what_if.simulation.locks import SimulatedLock
from observatory.why.what_if.simulation.simulation import Simulation
from observatory.why.what_if.simulation.workers import AbsenceKind, WorkerSpec
from observatory.why.what_if.without import Without


@dataclass(frozen=True, slots=True)
class Change:
    """None, 1 and False: as it was."""

    workers: int | None = None
    threads: int | None = None
    """of each worker"""
    prefix: int | None = None
    times_as_fast: float = 1.0
    """of the tasks of `prefix`"""
    no_transfers: bool = False
    unlimited_memory: bool = False
    """nothing is written to disk and read again, and no worker is paused"""
    from_start: bool = False
    """all workers are there from the start of the window on, and none leaves"""


class Predictor:
    """Predicts what [records.start, records.stop) would have taken. Times are seconds."""

    def __init__(
        self,
        records: Records,
        plan: Plan,
        rates: Rates,
        lock_seconds: float = 0.0,
        stalls: Sequence[Stall] = (),
        held: Mapping[int, int] | None = None,
        leases: Sequence[Leases] = (),
        spilling: Spilling | None = None,
    ) -> None:
        """`held`: the number of the recorded worker with which computations stayed (Conditions)."""
        self._leases = leases
        self._records, self.plan, self._rates, self.stalls = records, plan, rates, stalls
        self._held = held or {}
        self._spilling = spilling or Spilling(rates, {})
        self._lock_seconds = lock_seconds
        self._simulated: dict[tuple[Change, bool], float] = {}
        self.observed = (records.stop - records.start) / 1e6

    @cached_property
    def recorded_workers(self) -> list[WorkerSpec]:
        """The workers that the window had, each since its first start: one that was restarted is one."""
        return recorded_workers(self._records)

    @cached_property
    def threads(self) -> int:
        """Of most workers."""
        counts = Counter(worker.threads for worker in self.recorded_workers)
        return counts.most_common(1)[0][0] if counts else 1

    @cached_property
    def client_rounds(self) -> Sequence[ClientRound]:
        """Where the client waited for all tasks before it submitted more, for which it needn't have."""
        return client_rounds(self.plan, self._records)

    @property
    def _unwaited(self) -> dict[int, float]:
        """How long after the submission before each round comes if the client does not wait: its own code
        takes as long. By the number of the submission."""
        return {one.number: one.own_seconds for one in self.client_rounds}

    @cached_property
    def last(self) -> float:
        """When the last task ended."""
        return (int(self.plan.computing.times.stop.max(initial=0)) - self._records.start) / 1e6

    @property
    def simulated(self) -> float:
        """When the last task ends in a simulation in which nothing is different."""
        return self._simulate(Change())

    @property
    def misfit(self) -> float:
        """By which share of the window a simulation without a change is off."""
        return self.simulated / self.last - 1

    @property
    def locked(self) -> float:
        """The share of the time in which tasks computed, for which they waited for locks that aren't
        simulated."""
        simulated = float(self._waited_for_leases.sum()) if self._has_locks else 0.0
        return min(1.0, max(0.0, self._lock_seconds - simulated) / max(float(self.plan.seconds.sum()), 1e-9))

    @cached_property
    def _waited_for_leases(self) -> Numbers:
        """By computation of the plan."""
        return sum((one.waited[self.plan.rows] for one in self._leases), np.zeros(len(self.plan)))

    @cached_property
    def _has_locks(self) -> bool:
        """Whether tasks wait for leases in simulations as they did, nearly."""
        if not self._waited_for_leases.any():
            return False
        return abs(self._simulate(Change(), True) / self.last - 1) <= FURTHEST

    def predict(self, change: Change) -> Predicted:
        """Scaled by how far a simulation without the change is off; what follows the last task stays.

        Faster tasks save no more than the time in which any of them computed allows. Threads need as long as
        their work takes, unless the simulation finds a way around that, as for tasks that secede.
        """
        as_it_was = self._simulate(Change(), self._has_locks)
        simulated = self._simulate(change, self._has_locks)
        found = self._scaled(simulated, as_it_was)
        if (of_work := self.naive(change)) <= simulated:
            # of clocks that differ there may have been more work than threads had time for
            found = max(found, of_work * min(1.0, self.last / max(self.naive(Change()), 1e-9)))
        found += self.observed - self.last
        if change.times_as_fast > 1 and change == Change(None, None, change.prefix, change.times_as_fast):
            is_faster = self.plan.computing.prefix == change.prefix
            most = self._seconds_of_any(is_faster) * (1 - 1 / change.times_as_fast)
            found = max(found, self.observed - most)
        return Predicted.of(found, self.observed, as_it_was / self.last - 1, self.locked)

    def without(self, without: Without) -> Predicted:
        """What the window would have taken without a cause. It never takes longer."""
        plan = without.planned(self.plan)
        saved = without.saved(plan)
        plan = plan.shortened(saved)
        seconds = plan.seconds + without.disk_seconds(plan)
        never_full = self._spilling.rates if without.disk else self._rates
        rates = AT_ONCE if without.overhead else never_full
        stalls = [one for one in self._stalls(without.disk) if one.worker not in without.stalls]
        conditions = Conditions(
            seconds.tolist(),
            not without.transfers,
            not without.client,
            not without.actors,
            not without.own_code,
            without.overhead,
            stalls,
            held={} if without.held else self._held,
            spread=frozenset(self._held) if without.held else frozenset(),
            has_resources=not without.resources,
            unwaited=self._unwaited if without.rounds else {},
        )
        end = Simulation(plan, without.workers(self.recorded_workers), rates, conditions).run()
        found = min(self.observed, self._scaled(end, self.simulated) + self._rest(without))
        if without.is_shorter_tasks:
            most = min(float(np.maximum(saved, 0.0).sum()), self._seconds_of_any(saved > 0))
            found = max(found, self.observed - most)
        return Predicted.of(found, self.observed, self.misfit, self.locked)

    def _scaled(self, seconds: float, as_it_was: float) -> float:
        """Of a simulation, as far as one without a change is off; as recorded, if that takes no time."""
        return seconds * self.last / as_it_was if as_it_was else self.last

    def _stalls(self, never_full: Collection[int]) -> list[Stall]:
        """Those that are there if some workers never spill."""
        since = {worker: time for worker, time in self._spilling.since.items() if worker in never_full}
        return [one for one in self.stalls if one.worker not in since or one.start < since[one.worker]]

    def _rest(self, without: Without) -> float:
        """Seconds after the last task."""
        last, clients = self._records.start + round(self.last * 1e6), self._records.clients
        actors = clients.actors.clipped(last, self._records.stop).seconds
        rest = actors if without.client else self.observed - self.last
        if without.actors:
            rest -= actors
        if without.own_code and not without.client:
            rest -= clients.own_code.clipped(last, self._records.stop).seconds
        return rest

    def _seconds_of_any(self, condition: Flags) -> float:
        """In which at least one of some computations ran."""
        times = self.plan.computing.times.where(condition)
        return times.clipped(self._records.start, self._records.stop).union().seconds

    def naive(self, change: Change) -> float:
        """The time of all tasks, divided by the threads."""
        seconds = float(self._seconds(change).sum())
        return seconds / max(sum(worker.threads for worker in self._workers(change)), 1)

    def _workers(self, change: Change) -> list[WorkerSpec]:
        """Added workers join, are paused and leave when the one does in whose place they come again."""
        before = sorted(self.recorded_workers, key=lambda worker: worker.joins) or [WorkerSpec(self.threads)]
        if change.unlimited_memory:
            before = [worker.without(AbsenceKind.PAUSED) for worker in before]
        if change.from_start:
            before = [replace(worker.without(AbsenceKind.LEFT), joins=0.0) for worker in before]
        if change.workers is None and change.threads is None:
            return before
        count = len(before) if change.workers is None else change.workers
        threads = change.threads or self.threads
        found = [replace(before[number % len(before)], threads=threads) for number in range(count)]
        return with_one_that_stays(found)

    def _seconds(self, change: Change) -> Numbers:
        """Of each computation, with its disk."""
        seconds = self.plan.seconds / self._faster(change)
        return seconds if change.unlimited_memory else seconds + self.plan.disk_seconds

    def _simulate(self, change: Change, has_locks: bool = False) -> float:
        """Each change once, as the answer has some of them twice."""
        if (change, has_locks) not in self._simulated:
            seconds = self._seconds(change)
            locks = [self._lock(one, change) for one in self._leases] if has_locks else []
            for lock in locks:
                seconds[list(lock.held)] -= list(lock.held.values())
            if has_locks:
                seconds = np.maximum(seconds - self._waited_for_leases / self._faster(change), 0.0)
            workers = self._workers(change)
            held = {place: number % len(workers) for place, number in self._held.items()}
            spilling = self._spilling if change.unlimited_memory else Spilling(self._rates, {})
            conditions = Conditions(
                seconds.tolist(),
                not change.no_transfers,
                stalls=self._stalls(spilling.since),
                held=held,
                locks=locks,
            )
            simulation = Simulation(self.plan, workers, spilling.rates, conditions)
            self._simulated[change, has_locks] = simulation.run()
        return self._simulated[change, has_locks]

    def _lock(self, leases: Leases, change: Change) -> SimulatedLock:
        """What is held for as long as tasks are as fast."""
        seconds = leases.held[self.plan.rows] / self._faster(change)
        held = {place: float(seconds[place]) for place in np.flatnonzero(seconds).tolist()}
        return SimulatedLock(leases.count, held)

    def _faster(self, change: Change) -> Numbers:
        """How many times as fast each computation is."""
        of_prefix = self.plan.computing.prefix == (-1 if change.prefix is None else change.prefix)
        return np.where(of_prefix, change.times_as_fast, 1.0)
