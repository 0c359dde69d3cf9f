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
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce, Now

from observatory.clusters.models import Target

DURATION = 8.0
RENEWAL = 2.0

FREE = Q(lease_holder="") | Q(lease_expires=None)
EXPIRED = ~FREE & Q(lease_expires__lt=Now())
"""The collector that held the lease died, or does not reach the database."""
EXPIRY = Now() + timedelta(seconds=DURATION)
MOST_EXCESS = 0.1
"""of its share that a collector keeps: when a target changes hands, its event stream is interrupted"""


@dataclass(frozen=True, slots=True)
class Availability:
    """How many targets there are, and what they cost together (cost.py)."""

    enabled: int
    available: int
    """free or expired ones that this collector does not hold"""
    cost: float


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

    def take(self, share: float) -> set[int]:
        """Takes all expired leases, then free ones until those held cost `share`. Returns the taken."""
        if not self.held:
            self.renewed = time.monotonic()
        taken = self._take(EXPIRED)
        if taken:
            self.took_over = time.monotonic()
        return taken | self._take(FREE, share)

    def available(self) -> Availability:
        """Counts the targets, and those to take, in one query."""
        found = Target.objects.filter(enabled=True).aggregate(
            enabled=Count("pk"),
            available=Count("pk", filter=(FREE | EXPIRED) & ~Q(pk__in=self.held)),
            cost=Coalesce(Sum("cost"), 0.0),
        )
        return Availability(**found)

    def excess(self, share: float) -> int | None:
        """The target to release so that what is left costs `share` or more: the most costly one of these.

        None if there is none, or those held cost little more than the share.
        """
        costs = self._costs()
        excess = sum(costs.values()) - share
        if excess <= MOST_EXCESS * share:
            return None
        return max((pk for pk in costs if costs[pk] <= excess), key=lambda pk: (costs[pk], pk), default=None)

    def _costs(self) -> dict[int, float]:
        """The cost of each held target."""
        return dict(Target.objects.filter(pk__in=self.held, enabled=True).values_list("pk", "cost"))

    def _take(self, is_available: Q, share: float = math.inf) -> set[int]:
        """Takes available targets, the most costly first, until those held cost `share`."""
        available = Target.objects.filter(is_available, enabled=True).exclude(pk__in=self.held)
        held, taken = sum(self._costs().values()), set()
        with transaction.atomic():
            # another collector takes others meanwhile
            locked = available.select_for_update(skip_locked=True).order_by("-cost", "pk")
            for pk, cost in locked.values_list("pk", "cost"):
                if held >= share:
                    break
                taken.add(pk)
                held += cost
            if taken:
                Target.objects.filter(pk__in=taken).update(lease_holder=self.holder, lease_expires=EXPIRY)
        self.held |= taken
        return taken

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
