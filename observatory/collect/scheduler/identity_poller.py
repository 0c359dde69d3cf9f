"""Polls a scheduler's identity and workers without filling its log.

Each failed request of identity.json (workers_page.py explains why it fails) leaves a traceback in the
scheduler's log. After a failure it is requested again when the scheduler is idle, otherwise with growing
pauses. Meanwhile the workers page is read instead.
"""

from __future__ import annotations

import time

from observatory.collect.http.fetch import IDENTITY_LIMIT, FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Counts, Identity, IdentityError, Problems, read_identity
from observatory.collect.scheduler.workers_page import read_workers_page
from observatory.collect.workers.membership import heartbeat_interval

EAGER_FAILURES = 5
"""Failures in a row after which even a scheduler with an unknown id is not requested at each poll."""
FIRST_WAIT = 5.0
LONGEST_WAIT = 60.0
"""Seconds after a failure before identity.json is requested again."""


class IdentityPoller:
    """Polls one target. For one asyncio task."""

    def __init__(self, client: HttpClient, target: str, clock: SchedulerClock, problems: Problems) -> None:
        self.client = client
        self.target = target
        self.clock = clock
        self.problems = problems
        self.failures = 0
        self.failed_at = 0.0
        self.idle_since: float | None = None

    async def poll(self, counts: Counts, eager: bool) -> Identity | None:
        """The scheduler's identity; without its id from the workers page; None when neither can be read.

        `eager`: the id is needed, so request identity.json at each of the first polls. Raises FetchError when
        the scheduler cannot be reached.
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
        if not self.failures or (eager and self.failures < EAGER_FAILURES):
            return True
        # the first heartbeat after the last task removes what made identity.json fail
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
                self.problems.skip("its workers page")
                return None
            raise
        except IdentityError:
            self.problems.skip("its workers page")
            return None
