"""Leases: which collector observes which target. Times are on the database's clock.

A lease is taken, renewed and released by a single conditional UPDATE, which decides races. It lasts DURATION
seconds, so that another collector takes over within 15 s after one died. A collector that cannot renew in
time stops writing by its own monotonic clock, before another can take the lease.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from observatory.clusters.models import Target

DURATION = 10.0
RENEWAL = 3.0

FREE = Q(lease_holder="") | Q(lease_expires=None) | Q(lease_expires__lt=Now())
EXPIRY = Now() + timedelta(seconds=DURATION)


class Leases:
    """The leases of one collector. Not thread-safe."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.held: set[int] = set()
        self.renewed = -DURATION
        """Start of the last successful renewal (monotonic)."""

    def is_valid(self, target: int) -> bool:
        """Whether this collector may write records of the target now."""
        return target in self.held and time.monotonic() < self.renewed + DURATION

    def take(self, most: int) -> set[int]:
        """Takes free targets until `most` are held. Returns the targets taken."""
        wanted = most - len(self.held)
        if wanted <= 0:
            return set()
        if not self.held:
            self.renewed = time.monotonic()
        free = Target.objects.filter(FREE, enabled=True).exclude(pk__in=self.held)
        taken = {target for target in free.values_list("pk", flat=True)[:wanted] if self._take_one(target)}
        self.held |= taken
        return taken

    def _take_one(self, target: int) -> bool:
        taken = Target.objects.filter(FREE, pk=target, enabled=True)
        return taken.update(lease_holder=self.holder, lease_expires=EXPIRY) == 1

    def renew(self) -> set[int]:
        """Renews all leases. Returns the lost targets: taken by another collector, disabled or deleted."""
        started = time.monotonic()
        mine = Target.objects.filter(pk__in=self.held, lease_holder=self.holder)
        mine.filter(enabled=True).update(lease_expires=EXPIRY)
        kept = set(mine.filter(enabled=True).values_list("pk", flat=True))
        lost = self.held - kept
        self.held = kept
        self.renewed = started
        return lost

    def release(self, targets: Iterable[int]) -> None:
        """Releases leases, so that other collectors can take them at once."""
        released = set(targets)
        self.held -= released
        mine = Target.objects.filter(pk__in=released, lease_holder=self.holder)
        mine.update(lease_holder="", lease_expires=None)


def enabled_targets() -> int:
    return Target.objects.filter(enabled=True).count()
