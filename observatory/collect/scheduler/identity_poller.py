"""Polls a scheduler's identity and workers without filling its log.

Each failed request of identity.json (workers_page.py explains why it fails) leaves a traceback in the
scheduler's log. After a failure the workers page is read instead. It has neither the scheduler's id nor all
that is known of a worker. For these, identity.json is requested while the scheduler is idle, when it works.
"""

from __future__ import annotations

import time

from observatory.collect.http.fetch import IDENTITY_LIMIT, FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Counts, Identity, IdentityError, Problems, read_identity
from observatory.collect.scheduler.workers_page import read_workers_page
from observatory.wire.clocks import heartbeat_interval

FIRST_WAIT, LONGEST_WAIT = 5.0, 3600.0
"""Seconds after a failure before an idle scheduler is requested again; doubled with each failure."""


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
        self.counts: Counts | None = None
        """The counts of the poll before."""
        self.known: set[str] | None = None
        """Addresses of the workers of the process' last identity; None before the first."""
        self.listed: set[str] = set()
        """Those of the last workers page."""

    async def poll(self, counts: Counts) -> Identity | None:
        """The scheduler's identity; without its id from the workers page; None when neither can be read.

        Raises FetchError when the scheduler cannot be reached.
        """
        if self._is_due(counts):
            try:
                return await self._identity()
            except FetchError as error:
                if error.status != 500:
                    raise
                self.failures += 1
                self.failed_at = time.monotonic()
        return await self._workers()

    def scheduler_may_be_new(self) -> None:
        """Forgets the failures, because another scheduler may answer now, also of the same process."""
        self.failures = 0
        self.known = None

    def _is_due(self, counts: Counts) -> bool:
        now = time.monotonic()
        # tasks may have run since the last poll even if none is being processed now
        if counts["processing"] or counts != self.counts:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        self.counts = counts
        if not self.failures:
            return True
        if self.known is not None and self.listed <= self.known:
            return False
        # the first heartbeat after the last task removes what made identity.json fail
        settled = 2 * heartbeat_interval(counts["workers"])
        wait: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (self.failures - 1))
        return self.idle_since is not None and now - self.idle_since > settled and now - self.failed_at > wait

    async def _identity(self) -> Identity:
        answer, page = await self.client.get_json(f"{self.target}/json/identity.json", IDENTITY_LIMIT)
        self.clock.observe(answer.sent, answer.received, answer.date)
        identity = read_identity(page, self.problems)
        for worker in identity.workers.values():
            self.clock.passed(worker.last_seen, answer.received)
        self.known = set(identity.workers)
        return identity

    async def _workers(self) -> Identity | None:
        try:
            answer = await self.client.get(f"{self.target}/info/main/workers.html", IDENTITY_LIMIT)
            identity = read_workers_page(answer.body, self.clock.now(), self.problems)
            self.listed = set(identity.workers)
            return identity
        except FetchError as error:
            if error.status:
                self.problems.skip("its workers page")
                return None
            raise
        except IdentityError:
            self.problems.skip("its workers page")
            return None
