"""Locks and semaphores in a simulation: its computations hold one at their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True, slots=True)
class SimulatedLock:
    leases: int
    held: Mapping[int, float]
    """seconds, by computation"""


class SimulatedLocks:
    """Which computations hold a lock, and when its leases are free."""

    def __init__(self, locks: Sequence[SimulatedLock]) -> None:
        self._held = {
            place: (number, seconds)
            for number, lock in enumerate(locks)
            for place, seconds in lock.held.items()
        }
        self._free = [[0.0] * lock.leases for lock in locks]
        """when each lease is"""

    def __contains__(self, place: int) -> bool:
        """Whether a computation holds any."""
        return place in self._held

    def acquire(self, time: float, place: int) -> float:
        """Takes the first lease that is free from a time on; returns when the computation gives it back."""
        lock, seconds = self._held[place]
        end = max(time, heappop(self._free[lock])) + seconds
        heappush(self._free[lock], end)
        return end
