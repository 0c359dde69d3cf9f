"""What somebody asks to be different, and how long the window would have taken then."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from observatory.why.intervals import Numbers
from observatory.why.records import Records, Worker
from observatory.why.what_if.plan import Plan
from observatory.why.what_if.rates import Rates
from observatory.why.what_if.simulation import Conditions, Simulation
from observatory.why.what_if.workers import WorkerSpec


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
    """nothing is written to disk and read again"""


class Predictor:
    """Predicts what [records.start, records.stop) would have taken. Times are seconds."""

    def __init__(self, records: Records, plan: Plan, rates: Rates) -> None:
        self._records, self.plan, self._rates = records, plan, rates
        self._simulated: dict[Change, float] = {}
        self.observed = (records.stop - records.start) / 1e6

    @cached_property
    def recorded_workers(self) -> list[WorkerSpec]:
        """The workers that the window had, each since its first start: one that was restarted is one."""
        by_slot: dict[str, list[Worker]] = {}
        for worker in self._records.workers:
            if worker.threads:
                by_slot.setdefault(worker.slot, []).append(worker)
        return [
            WorkerSpec(
                max(worker.threads for worker in lifetimes),
                (min(worker.start for worker in lifetimes) - self._records.start) / 1e6,
            )
            for lifetimes in by_slot.values()
        ]

    @cached_property
    def threads(self) -> int:
        """Of most workers."""
        counts = Counter(worker.threads for worker in self.recorded_workers)
        return counts.most_common(1)[0][0] if counts else 1

    @cached_property
    def last(self) -> float:
        """When the last task ended."""
        return (int(self.plan.computing.times.stop.max(initial=0)) - self._records.start) / 1e6

    @property
    def simulated(self) -> float:
        """When the last task ends in a simulation in which nothing is different."""
        return self._simulate(Change())

    def predict(self, change: Change) -> float:
        """Scaled by how far a simulation without the change is off; what follows the last task stays.

        Faster tasks save no more than the time in which any of them computed allows.
        """
        found = self._simulate(change) * self.last / self.simulated + self.observed - self.last
        if change.times_as_fast > 1 and change == Change(None, None, change.prefix, change.times_as_fast):
            return max(found, self.observed - self._most_saved(change))
        return found

    def _most_saved(self, change: Change) -> float:
        """By faster tasks."""
        times = self.plan.computing.times.where(self.plan.computing.prefix == change.prefix)
        computed = times.clipped(self._records.start, self._records.stop).union()
        return float((computed.stop - computed.start).sum()) / 1e6 * (1 - 1 / change.times_as_fast)

    def naive(self, change: Change) -> float:
        """The time of all tasks, divided by the threads."""
        seconds = float(self._seconds(change).sum())
        return seconds / max(sum(worker.threads for worker in self._workers(change)), 1)

    def _workers(self, change: Change) -> list[WorkerSpec]:
        """Added workers join when the one did in whose place they come again."""
        if change.workers is None and change.threads is None:
            return self.recorded_workers
        count = len(self.recorded_workers) if change.workers is None else change.workers
        joins = sorted(worker.joins for worker in self.recorded_workers) or [0.0]
        threads = change.threads or self.threads
        return [WorkerSpec(threads, joins[number % len(joins)]) for number in range(count)]

    def _seconds(self, change: Change) -> Numbers:
        """Of each computation, with its disk."""
        of_prefix = self.plan.computing.prefix == (-1 if change.prefix is None else change.prefix)
        seconds = np.where(of_prefix, self.plan.seconds / change.times_as_fast, self.plan.seconds)
        return seconds if change.unlimited_memory else seconds + self.plan.disk_seconds

    def _simulate(self, change: Change) -> float:
        """Each change once, as the answer has some of them twice."""
        if change not in self._simulated:
            conditions = Conditions(self._seconds(change).tolist(), not change.no_transfers)
            simulation = Simulation(self.plan, self._workers(change), self._rates, conditions)
            self._simulated[change] = simulation.run()
        return self._simulated[change]
