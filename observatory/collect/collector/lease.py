"""Leases: which collector observes which target. All times are the database's.

A lease is taken, renewed and given up by one UPDATE each, whose condition decides the race. It lasts DURATION
seconds, so that another takes over within 15 s from a collector that died. Who can't renew in time stops
writing by its own monotonic clock, before the other one can have begun.
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
    """The targets that one collector holds. For one thread."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        self.held: set[int] = set()
        self.renewed = -DURATION
        """monotonic time before the last renewal that succeeded"""

    def is_valid(self, target: int) -> bool:
        """Whether this collector may write what it observes of the target now."""
        return target in self.held and time.monotonic() < self.renewed + DURATION

    def take(self, most: int) -> set[int]:
        """Takes free targets until `most` are held. Returns those that were taken."""
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
        """Renews all leases. Returns those that are lost: taken by another, disabled or deleted."""
        started = time.monotonic()
        mine = Target.objects.filter(pk__in=self.held, lease_holder=self.holder)
        mine.filter(enabled=True).update(lease_expires=EXPIRY)
        kept = set(mine.filter(enabled=True).values_list("pk", flat=True))
        lost = self.held - kept
        self.held = kept
        self.renewed = started
        return lost

    def release(self, targets: Iterable[int]) -> None:
        """Gives up leases, so that others can take them at once."""
        given_up = set(targets)
        self.held -= given_up
        mine = Target.objects.filter(pk__in=given_up, lease_holder=self.holder)
        mine.update(lease_holder="", lease_expires=None)


def enabled_targets() -> int:
    return Target.objects.filter(enabled=True).count()
