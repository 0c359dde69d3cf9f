"""What a window would be without, if a cause had not been there: what a finding says of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.why.intervals import Integers, Numbers
from observatory.why.what_if.recorded.plan import Plan
from observatory.why.what_if.simulation.workers import AbsenceKind, WorkerSpec


@dataclass(frozen=True, slots=True)
class Shorter:
    """Computations that would have taken less time: of their thread, then of what they do without one."""

    rows: Integers
    """among the computations of the records"""
    seconds: Numbers
    """that each would have been shorter by; negative: longer"""


@dataclass(frozen=True, slots=True)
class Without:
    """What isn't there. All together is what one simulation leaves out."""

    shorter: tuple[Shorter, ...] = ()
    transfers: bool = False
    overhead: bool = False
    """what the scheduler, the event loops and small transfers take for each task"""
    client: bool = False
    """the time from the end of all tasks until the client submits more, but for actors"""
    actors: bool = False
    """the client's waiting for methods of actors before it submits more"""
    own_code: bool = False
    """the time of the client's own code before it submits more"""
    rounds: bool = False
    """the client's waiting for all tasks of a round before it submits the next one"""
    late: bool = False
    """workers that came after the window's start"""
    added: tuple[int, ...] = ()
    """threads of each worker that came after the window's end"""
    disk: frozenset[int] = frozenset()
    """ids of workers that spilled"""
    absences: frozenset[tuple[AbsenceKind, int]] = frozenset()
    """of workers, by the ids of their lifetimes"""
    threads: int | None = None
    """of each worker, at least"""
    stalls: frozenset[int] = frozenset()
    """ids of workers whose event loops were blocked"""
    held: bool = False
    """tasks that stay with their worker, although others have nothing to do"""
    resources: bool = False
    """what tasks require of their workers"""
    seceded: Integers | None = None
    """when each computation of the records would have left its thread (microseconds)"""

    @classmethod
    def of_all(cls, some: Sequence[Without]) -> Without:
        """Without any of them."""
        return cls(
            tuple(shorter for one in some for shorter in one.shorter),
            any(one.transfers for one in some),
            any(one.overhead for one in some),
            any(one.client for one in some),
            any(one.actors for one in some),
            any(one.own_code for one in some),
            any(one.rounds for one in some),
            any(one.late for one in some),
            max((one.added for one in some), key=len, default=()),
            frozenset().union(*(one.disk for one in some)),
            frozenset().union(*(one.absences for one in some)),
            max((one.threads for one in some if one.threads is not None), default=None),
            frozenset().union(*(one.stalls for one in some)),
            any(one.held for one in some),
            any(one.resources for one in some),
            next((one.seceded for one in some if one.seceded is not None), None),
        )

    @property
    def is_shorter_tasks(self) -> bool:
        """Whether nothing else is different."""
        return self.seceded is None and self == Without(self.shorter)

    def planned(self, plan: Plan) -> Plan:
        """The plan, with when computations leave their threads."""
        return plan if self.seceded is None else plan.with_seceded(self.seceded)

    def saved(self, plan: Plan) -> Numbers:
        """Seconds of each computation of the plan: at most what it took."""
        by_row = np.zeros(len(plan))
        for shorter in self.shorter:
            np.add.at(by_row, shorter.rows, shorter.seconds)
        return np.minimum(by_row[plan.rows], plan.seconds + plan.seconds_outside)

    def disk_seconds(self, plan: Plan) -> Numbers:
        """Of each computation of the plan."""
        return np.where(np.isin(plan.computing.worker, list(self.disk)), 0.0, plan.disk_seconds)

    def workers(self, specs: Sequence[WorkerSpec]) -> list[WorkerSpec]:
        there = [
            replace(
                spec,
                threads=max(spec.threads, self.threads or 0),
                joins=0.0 if self.late else spec.joins,
                absences=tuple(one for one in spec.absences if (one.kind, one.worker) not in self.absences),
            )
            for spec in specs
        ]
        return [*there, *map(WorkerSpec, self.added)]
