"""The workers of a simulation: what they compute, have and wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SATURATION = 1.1
"""distributed.scheduler.worker-saturation"""


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """A worker that a simulation is given."""

    threads: int
    joins: float = 0.0
    """seconds after the window's start"""


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

    @property
    def has_room(self) -> bool:
        """For tasks that the scheduler queues."""
        return self.processing < max(1, math.ceil(SATURATION * self.threads))
