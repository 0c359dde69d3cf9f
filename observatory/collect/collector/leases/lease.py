"""Leases: which collector observes which target. Times are on the database's clock.

A lease is taken under a lock of its row, which decides races; it is renewed and released by a single
conditional UPDATE. It lasts DURATION seconds; then another collector takes over (docs/running.md says how
soon). A collector that cannot renew in time stops writing by its own monotonic clock, before another can take
the lease.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from observatory.clusters.models import Target

DURATION = 8.0
RENEWAL = 2.0

FREE = Q(lease_holder="") | Q(lease_expires=None)
EXPIRED = ~FREE & Q(lease_expires__lt=Now())
"""The collector that held the lease died, or does not reach the database."""
EXPIRY = Now() + timedelta(seconds=DURATION)


@dataclass(frozen=True, slots=True)
class Availability:
    """How many targets there are."""

    enabled: int
    available: int
    """free or expired ones that this collector does not hold"""


class Leases:
    """The leases of one collector. `renew` may run in another thread than the rest."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.held: set[int] = set()
        self.renewed = -DURATION
        """Start of the last successful renewal (monotonic)."""
        self.took_over = -math.inf
        """When expired leases were taken last (monotonic)."""

    def is_valid(self, target: int) -> bool:
        """Whether this collector may write records of the target now."""
        return target in self.held and time.monotonic() < self.renewed + DURATION

    def take(self, most: int) -> set[int]:
        """Takes all expired leases, then free ones until `most` are held. Returns the targets taken."""
        if not self.held:
            self.renewed = time.monotonic()
        taken = self._take(EXPIRED)
        if taken:
            self.took_over = time.monotonic()
        return taken | self._take(FREE, most)

    def available(self) -> Availability:
        """Counts the targets, and those to take, in one query."""
        found = Target.objects.filter(enabled=True).aggregate(
            enabled=Count("pk"), available=Count("pk", filter=(FREE | EXPIRED) & ~Q(pk__in=self.held))
        )
        return Availability(**found)

    def _take(self, is_available: Q, most: int | None = None) -> set[int]:
        """Takes available targets, until `most` are held if that is given."""
        available = Target.objects.filter(is_available, enabled=True).exclude(pk__in=self.held)
        wanted = None if most is None else max(0, most - len(self.held))
        with transaction.atomic():
            # another collector takes others meanwhile
            free = list(available.select_for_update(skip_locked=True).values_list("pk", flat=True)[:wanted])
            if free:
                Target.objects.filter(pk__in=free).update(lease_holder=self.holder, lease_expires=EXPIRY)
        self.held |= set(free)
        return set(free)

    def renew(self) -> set[int]:
        """Renews all leases. Returns the lost targets: taken by another collector, disabled or deleted."""
        started = time.monotonic()
        held = set(self.held)
        mine = Target.objects.filter(pk__in=held, lease_holder=self.holder, enabled=True)
        is_whole = mine.update(lease_expires=EXPIRY) == len(held)
        lost = set() if is_whole else held - set(mine.values_list("pk", flat=True))
        self.held -= lost
        self.renewed = started
        return lost

    def release(self, targets: Iterable[int]) -> None:
        """Releases leases, so that other collectors can take them at once."""
        released = set(targets)
        self.held -= released
        mine = Target.objects.filter(pk__in=released, lease_holder=self.holder)
        mine.update(lease_holder="", lease_expires=None)
