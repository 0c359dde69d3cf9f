"""The workers of a simulation: what they compute, have and wait for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import heapify, heappop, heappush

SATURATION = 1.1
"""distributed.scheduler.worker-saturation"""

Amounts = Mapping[str, float]
"""of resources, by name"""


class AbsenceKind(StrEnum):
    PAUSED = "paused"
    """what runs goes on, and what is there waits"""
    LEFT = "left"
    """what runs goes on, and other workers get the rest"""
    DIED = "died"
    """other workers get all of its tasks"""


@dataclass(frozen=True, slots=True)
class Absence:
    """When a worker took no tasks, in seconds after the window's start."""

    start: float
    stop: float
    """infinity: for good"""
    kind: AbsenceKind
    worker: int
    """the id of the lifetime that was paused, or ended"""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """A worker that a simulation is given."""

    threads: int
    joins: float = 0.0
    """seconds after the window's start"""
    absences: tuple[Absence, ...] = ()
    resources: Amounts = field(default_factory=dict)
    """that tasks can require"""

    def without(self, kind: AbsenceKind) -> WorkerSpec:
        return replace(self, absences=tuple(one for one in self.absences if one.kind is not kind))


@dataclass(slots=True)
class SimulatedWorker:
    """What the simulated scheduler and worker know at an instant."""

    number: int
    threads: int
    resources: Amounts = field(default_factory=dict)
    idle: int = 0
    """threads"""
    processing: int = 0
    """tasks that the scheduler sent and that have not finished"""
    occupancy: float = 0.0
    """seconds that these are expected to take"""
    ready: list[int] = field(default_factory=list)
    """a heap of computations whose data is there; what began first when it was recorded goes first"""
    constrained: list[int] = field(default_factory=list)
    """a heap of those that require resources"""
    taken: dict[str, float] = field(default_factory=dict)
    """amounts of resources that those which run have"""
    fetching: dict[int, float] = field(default_factory=dict)
    """when each result that is on its way arrives (seconds)"""
    sent: set[int] = field(default_factory=set)
    """computations that were sent to it and have not finished"""
    running: set[int] = field(default_factory=set)
    """those of `sent` that have begun"""
    unreported: list[tuple[int, int]] = field(default_factory=list)
    """computations that have finished, each with its life, and that the scheduler will hear of together"""
    life: int = 0
    """how often it has died"""
    is_there: bool = False
    """it takes tasks"""
    stalled_until: float = 0.0
    """it begins and reports none before (seconds)"""

    @property
    def has_room(self) -> bool:
        """For tasks that the scheduler queues."""
        return self.processing < max(1, math.ceil(SATURATION * self.threads))

    @property
    def has_line(self) -> bool:
        return bool(self.ready or self.constrained)

    @property
    def first_in_lines(self) -> list[int]:
        """The computations one of which begins next."""
        return [*self.ready[:1], *self.constrained[:1]]

    @property
    def in_line(self) -> list[int]:
        """All computations whose data is there."""
        return [*self.ready, *self.constrained]

    def put_in_line(self, place: int, required: Amounts | None) -> None:
        heappush(self.constrained if required else self.ready, place)

    def take_out_of_line(self, place: int) -> None:
        line = self.ready if place in self.ready else self.constrained
        line.remove(place)
        heapify(line)

    def next_in_line(self, required: Mapping[int, Amounts]) -> int | None:
        """Take the one that begins next; of those that require resources the first, once it can have them."""
        can_have = bool(self.constrained) and self._has_left(required[self.constrained[0]])
        if can_have and not (self.ready and self.ready[0] < self.constrained[0]):
            place = heappop(self.constrained)
            self._change_taken(required[place], 1)
            return place
        return heappop(self.ready) if self.ready else None

    def give_back(self, required: Amounts | None) -> None:
        """One that had these amounts has ended."""
        self._change_taken(required or {}, -1)

    def _has_left(self, required: Amounts) -> bool:
        left = {name: self.resources.get(name, 0.0) - self.taken.get(name, 0.0) for name in required}
        return supplies(left, required)

    def _change_taken(self, required: Amounts, times: int) -> None:
        for name, amount in required.items():
            self.taken[name] = self.taken.get(name, 0.0) + times * amount


def supplies(resources: Amounts, required: Amounts) -> bool:
    """Whether a worker has what a task requires."""
    return all(resources.get(name, 0.0) >= amount for name, amount in required.items())
