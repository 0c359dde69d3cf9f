"""When event loops were blocked: by what keeps them, and not by a machine with too few cores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.why.findings.evidence import Evidence
from observatory.why.findings.observed.samples import Samples, blocked_seconds, values_at
from observatory.why.intervals import Flags, Integers, Intervals, Numbers
from observatory.why.thread_times.cores import SCHEDULER, SCHEDULER_OWN, WORKER, WORKER_OWN, own_share
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.recorded.stalls import Stall
from observatory.why.what_if.without import Without

BLOCKED, WORKER_BLOCKED = 0.05, 0.06
"""seconds between two ticks, usually 0.02: the loop was blocked for three fifths, or two thirds, of the time.

Samples of a loop that is blocked again and again have free times as well."""
MODULES = "observatory_worker_imported_modules"
MANY_MODULES = 20
"""that a worker imports for its first tasks of a kind: NumPy has 150, pandas 800"""
CLOSE = 1.25
"""times what threads waited, that they waited in stalls at most, or at least its inverse, to simulate it"""
WAITING = (ThreadKind.READY, ThreadKind.TRANSFER)
"""what tasks do that a blocked event loop doesn't begin"""
LEAST_OWN = 0.5
"""share of its time in which a loop had a core, or waited for something else"""
TIMES_THE_WORKERS = 2.0
"""between two ticks of the scheduler's event loop, times that of the median worker at the same time"""


@dataclass(frozen=True, slots=True)
class LoopTicks:
    """Samples of event loops."""

    samples: Samples
    """seconds between two ticks"""
    is_blocked: Flags
    share: Numbers
    """of the time of each sample, in which the loop had a core or waited for something else than one"""

    @property
    def blocked(self) -> Intervals:
        """When any of them was blocked."""
        return self.samples.times.where(np.flatnonzero(self.is_blocked)).union()

    @property
    def all_blocked_seconds(self) -> float:
        """For how long they were blocked, all together."""
        return blocked_seconds(self.samples, self.is_blocked)

    @property
    def blocked_seconds(self) -> float:
        """The same, by something else than the machine."""
        return self.all_blocked_seconds * self.own_share()

    def own_share(self, worker: int | None = None) -> float:
        """Of the time in which a worker's loop, or any, was blocked, what isn't due to the machine."""
        wanted = self.is_blocked & (True if worker is None else self.samples.worker == worker)
        lengths = self.samples.times.lengths[wanted]
        return float(np.average(self.share[wanted], weights=lengths)) if lengths.sum() else 1.0

    def by_worker(self) -> dict[int, Intervals]:
        """When the event loop of each worker was blocked."""
        return {
            id: self.samples.times.where(
                np.flatnonzero(self.is_blocked & (self.samples.worker == id))
            ).union()
            for id in np.unique(self.samples.worker[self.is_blocked]).tolist()
        }

    def only(self, wanted: Flags) -> LoopTicks:
        """The same, but blocked in the wanted samples alone."""
        return replace(self, is_blocked=self.is_blocked & wanted)

    def waited(self, evidence: Evidence) -> dict[int, float]:
        """Thread seconds for which tasks waited for each worker's loop, but for those due to the machine."""
        return {
            id: evidence.waits.of_kinds_during(WAITING, id, times) * self.own_share(id)
            for id, times in self.by_worker().items()
        }


def scheduler_ticks(evidence: Evidence) -> LoopTicks:
    """Without samples of its own time it isn't blocked while the workers' ticks come as late."""
    own, ticks = evidence.samples(SCHEDULER_OWN), evidence.samples(SCHEDULER)
    if len(own.value):
        return LoopTicks(own, own.value >= BLOCKED, own_share(own, ticks))
    usual = _usual(evidence.samples(WORKER), (ticks.times.start + ticks.times.stop) // 2)
    is_blocked = ticks.value >= np.maximum(BLOCKED, TIMES_THE_WORKERS * usual)
    return LoopTicks(ticks, is_blocked, np.ones(len(ticks.value)))


def worker_ticks(evidence: Evidence) -> LoopTicks:
    own, ticks = evidence.samples(WORKER_OWN), evidence.samples(WORKER)
    if len(own.value):
        return LoopTicks(own, own.value >= WORKER_BLOCKED, own_share(own, ticks))
    return LoopTicks(ticks, ticks.value >= WORKER_BLOCKED, np.ones(len(ticks.value)))


def are_imports(evidence: Evidence, ticks: LoopTicks) -> Flags:
    """Whether the worker of each sample imported many modules in its time."""
    found = evidence.samples(MODULES, function="max")
    return ticks.is_blocked & (values_at(ticks.samples, found) >= MANY_MODULES)


def without_stalls(evidence: Evidence, workers: Collection[int], seconds: float) -> Without | None:
    """The window whose workers begin what is sent to them; None: threads did not wait `seconds` for that."""
    known = evidence.simulation.stalls if evidence.simulation else ()
    found = sum(
        evidence.waits.of_kinds_during(WAITING, id, _times_of(known, id))
        for id in {one.worker for one in known} & set(workers)
    )
    if not 1 / CLOSE * seconds <= found <= CLOSE * seconds:
        return None
    return Without(stalls=frozenset(workers))


def _times_of(known: Sequence[Stall], worker: int) -> Intervals:
    own = [one for one in known if one.worker == worker]
    return Intervals(np.array([one.start for one in own]), np.array([one.stop for one in own]))


def had_no_core_or_imported(evidence: Evidence, worker: int, stop: int) -> bool:
    """Whether that is why a worker was not heard for a while, until `stop` (microseconds)."""
    ticks = worker_ticks(evidence)
    after = np.flatnonzero((ticks.samples.worker == worker) & (ticks.samples.times.stop >= stop))[:1]
    return bool((are_imports(evidence, ticks) | (ticks.share < LEAST_OWN))[after].any())


def _usual(of_workers: Samples, times: Integers) -> Numbers:
    """The median value of all workers at each time; 0: it isn't known."""
    usual = np.zeros(len(times))
    for place, time in enumerate(times.tolist()):
        is_then = (of_workers.times.start <= time) & (time < of_workers.times.stop)
        usual[place] = float(np.median(of_workers.value[is_then])) if is_then.any() else 0.0
    return usual
