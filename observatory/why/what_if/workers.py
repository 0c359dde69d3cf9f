"""The workers of a simulation: what they compute, have and wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

SATURATION = 1.1
"""distributed.scheduler.worker-saturation"""


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

    def without(self, kind: AbsenceKind) -> WorkerSpec:
        return replace(self, absences=tuple(one for one in self.absences if one.kind is not kind))


@dataclass(slots=True)
class SimulatedWorker:
    """What the simulated scheduler and worker know at an instant."""

    number: int
    threads: int
    idle: int = 0
    """threads"""
    processing: int = 0
    """tasks that the scheduler sent and that have not finished"""
    occupancy: float = 0.0
    """seconds that these are expected to take"""
    ready: list[int] = field(default_factory=list)
    """a heap of computations whose data is there; what began first when it was recorded goes first"""
    fetching: dict[int, float] = field(default_factory=dict)
    """when each result that is on its way arrives (seconds)"""
    sent: set[int] = field(default_factory=set)
    """computations that were sent to it and have not finished"""
    running: set[int] = field(default_factory=set)
    """those of `sent` that have begun"""
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
