"""Writes what is known of targets into their rows: of many targets with one statement."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.collect.collector.coalesced_calls import CoalescedCalls
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.load.pace import Pace
from observatory.store.target_rows import TargetRow, update_targets


class StatusRows:
    """The rows of a collector's targets. For one event loop."""

    def __init__(self, holder: str, pace: Pace) -> None:
        """`holder`: the collector, as the leases know it."""
        self.holder = holder
        self._updates: CoalescedCalls[TargetRow, None] = CoalescedCalls(self._update, lambda: pace.linger)

    async def update(self, status: TargetRow) -> None:
        """Updates a target's row, and that of its cluster, while the lease is held.

        Raises django.db.Error.
        """
        await self._updates(status)

    async def _update(self, statuses: Sequence[TargetRow]) -> list[Exception | None]:
        await run_in_django_thread(update_targets, self.holder, statuses)
        return [None] * len(statuses)
