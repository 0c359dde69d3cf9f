"""Writes what is known of targets into their rows: of many targets with one statement.

Targets whose update waits, or comes while a statement is on its way, share the next one.
"""

from __future__ import annotations

import asyncio

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.pace import Pace
from observatory.store.target_status import TargetStatus, update_statuses


class _Statement:
    """A statement that is not executed yet, or was."""

    def __init__(self) -> None:
        self.statuses: dict[int, TargetStatus] = {}
        self.is_over = False
        self.error: Exception | None = None


class StatusRows:
    """The rows of a collector's targets. For one event loop."""

    def __init__(self, holder: str, pace: Pace) -> None:
        """`holder`: the collector, as the leases know it."""
        self.holder = holder
        self.pace = pace
        self.writing = asyncio.Lock()
        self.next = _Statement()

    async def update(self, status: TargetStatus) -> None:
        """Updates a target's row, and that of its cluster, while the lease is held.

        Raises django.db.Error.
        """
        statement = self.next
        statement.statuses[status.target] = status
        async with self.writing:
            if not statement.is_over:
                await asyncio.sleep(self.pace.linger)
                self.next = _Statement()
                try:
                    await run_in_django_thread(
                        update_statuses, self.holder, list(statement.statuses.values())
                    )
                except Exception as error:
                    statement.error = error
                statement.is_over = True
        raise_if_cancelled()
        if statement.error is not None:
            raise statement.error
