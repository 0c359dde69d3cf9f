"""Asks a scheduler who it is and who works for it, without filling its log.

Each read of identity.json that fails (workers_page.py says why) leaves a traceback in the scheduler's log. So
after a failure it is read again when the scheduler has nothing to do, and otherwise less and less often;
meanwhile the page of workers is read instead.
"""

from __future__ import annotations

import time

from observatory.collect.http.fetch import IDENTITY_LIMIT, FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Counts, Identity, IdentityError, Problems, read_identity
from observatory.collect.scheduler.workers_page import read_workers_page
from observatory.collect.workers.membership import heartbeat_interval

EAGER = 5
"""failures in a row after which a scheduler that never said its id isn't asked for it at each poll"""
FIRST_WAIT = 5.0
LONGEST_WAIT = 60.0


class IdentityPoller:
    """Asks one target. For one task."""

    def __init__(self, client: HttpClient, target: str, clock: SchedulerClock, problems: Problems) -> None:
        self.client = client
        self.target = target
        self.clock = clock
        self.problems = problems
        self.failures = 0
        self.failed_at = 0.0
        self.idle_since: float | None = None

    async def ask(self, counts: Counts, eager: bool) -> Identity | None:
        """What the scheduler tells; without its id when that fails, None when nothing is told.

        `eager` asks for the id at each poll, at first. Raises FetchError when the scheduler can't be reached.
        """
        if self._is_due(counts, eager):
            try:
                return await self._identity(counts)
            except FetchError as error:
                if error.status != 500:
                    raise
                self.failures += 1
                self.failed_at = time.monotonic()
        return await self._workers()

    def _is_due(self, counts: Counts, eager: bool) -> bool:
        now = time.monotonic()
        if counts["processing"]:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        if not self.failures or (eager and self.failures < EAGER):
            return True
        # a heartbeat after the last task's clears what can't be said
        if self.idle_since is not None and now - self.idle_since > 2 * heartbeat_interval(counts["workers"]):
            return now - self.failed_at > FIRST_WAIT
        wait: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (self.failures - 1))
        return now - self.failed_at > wait

    async def _identity(self, counts: Counts) -> Identity:
        answer, page = await self.client.get_json(f"{self.target}/json/identity.json", IDENTITY_LIMIT)
        self.clock.observe(answer.sent, answer.received, answer.date)
        identity = read_identity(page, self.problems)
        for worker in identity.workers.values():
            self.clock.passed(worker.last_seen, answer.received)
        if counts["processing"]:
            self.failures = 0
        return identity

    async def _workers(self) -> Identity | None:
        try:
            answer = await self.client.get(f"{self.target}/info/main/workers.html", IDENTITY_LIMIT)
            return read_workers_page(answer.body, self.clock.now(), self.problems)
        except FetchError as error:
            if error.status:
                self.problems.skip("its page of workers")
                return None
            raise
        except IdentityError:
            self.problems.skip("its page of workers")
            return None
