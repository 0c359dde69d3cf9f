"""Samples Dask's semaphores and locks: how many leases each has, how many are in use, and who waits for one.

The scheduler knows leases by random ids, so it isn't known which task or worker holds one. The metrics are
those of the scheduler's `/metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from distributed import Scheduler

METRIC = "dask_semaphore_"
MAXIMUM_NAMES = 50
"""Names that are sampled: each has four series."""
LONGEST_NAME = 200
MAXIMUM_READ = 1000
"""Semaphores and locks that a tick reads."""


class Leases(NamedTuple):
    """The state of a semaphore or lock."""

    most: int
    active: int
    pending: int
    waited: float | None
    """Recent mean seconds until a lease was acquired; None: Dask doesn't measure it."""


class Semaphores:
    """Samples those that were in use at any tick: `Semaphore`, `Lock` and `MultiLock`."""

    def __init__(self, scheduler: Scheduler, add: Callable[..., None]) -> None:
        """`add(time, metric, value, labels)` records a sample."""
        self.scheduler = scheduler
        self._add = add
        self._names: set[str] = set()

    def sample(self, now: float) -> None:
        found = {str(name)[:LONGEST_NAME]: leases for name, leases in islice(self._found(), MAXIMUM_READ)}
        for name, leases in found.items():
            if (leases.active or leases.pending) and len(self._names) < MAXIMUM_NAMES:
                self._names.add(name)
        for name in self._names:
            self._sample(now, name, found.get(name, Leases(0, 0, 0, None)))

    def _sample(self, now: float, name: str, leases: Leases) -> None:
        labels = {"name": name}
        self._add(now, f"{METRIC}max_leases", leases.most, labels)
        self._add(now, f"{METRIC}active_leases", leases.active, labels)
        self._add(now, f"{METRIC}pending_leases", leases.pending, labels)
        self._add(now, f"{METRIC}average_pending_lease_time_s", leases.waited, labels)

    def _found(self) -> Iterator[tuple[Any, Leases]]:
        extensions = self.scheduler.extensions
        yield from _semaphores(extensions.get("semaphores"))
        yield from _multi_locks(extensions.get("multi_locks"))
        yield from _locks(extensions.get("locks"))


def _semaphores(extension: Any) -> Iterator[tuple[Any, Leases]]:
    """Reads SemaphoreExtension: semaphores, and the locks of newer versions of distributed."""
    if extension is None:
        return
    metrics = extension.metrics
    for name, most in extension.max_leases.items():
        active = len(extension.leases.get(name, ()))
        waited = metrics["average_pending_lease_time"].get(name)
        yield name, Leases(most, active, metrics["pending"].get(name, 0), waited)


def _locks(extension: Any) -> Iterator[tuple[Any, Leases]]:
    """Reads LockExtension, which earlier versions of distributed have."""
    held, waiting = getattr(extension, "ids", {}), getattr(extension, "events", {})
    for name in {*held, *waiting}:
        yield name, Leases(1, int(name in held), len(waiting.get(name, ())), None)


def _multi_locks(extension: Any) -> Iterator[tuple[Any, Leases]]:
    """Reads MultiLockExtension: the first one in the list of a lock holds it."""
    for name, users in getattr(extension, "locks", {}).items():
        yield name, Leases(1, min(len(users), 1), max(len(users) - 1, 0), None)
