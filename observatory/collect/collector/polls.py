"""Polls the scheduler of a target, and records when it does not answer, and when it is gone."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import psycopg
from django.db import Error as DatabaseError

from observatory.clusters.models import Target
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.clusters.tracker import ClusterTracker
from observatory.collect.collector.load.pace import Pace
from observatory.collect.http.fetch import IDENTITY_LIMIT, Failure, FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Counts, IdentityError, read_counts
from observatory.collect.scheduler.identity_poller import IdentityPoller

logger = logging.getLogger(__name__)

REFUSED_END = 10.0
"""Seconds of refused connections after which the scheduler is gone."""
HANGING = 3.0
"""Seconds without an answer after which a gap is recorded."""
HANGING_END = 300.0
"""Seconds without an answer after which the cluster is ended."""
SUCCESSOR = 0.25
"""Seconds between two polls of a scheduler that is gone: another may start at its address any moment."""
LONGEST_POLL = 10.0
LONGEST_ADMITTED_POLL = 30.0
"""Most seconds between two polls: of one that may be gone, and while the process has too much to do."""
POLL_SHARE = 4.0
"""Least pause after a poll, in durations of that poll: counting many tasks is slow for the scheduler."""


class Polls:
    """Polls the scheduler of a target: `await run()` until cancelled."""

    def __init__(
        self,
        target: Target,
        client: HttpClient,
        clock: SchedulerClock,
        identity_poller: IdentityPoller,
        tracker: ClusterTracker,
        current: Callable[[], Observation | None],
        pace: Pace,
        admitted: Callable[[], float],
        rest: Rest,
        has_pages: Callable[[], bool],
        is_receiving: Callable[[], bool],
    ) -> None:
        """`current`: the observation, for a record that is added now; `admitted`: the factor of intervals."""
        self.target = target
        self.client = client
        self.clock = clock
        self.identity_poller = identity_poller
        self.tracker = tracker
        self.current = current
        self.pace = pace
        self.admitted = admitted
        self.rest = rest
        self.has_pages = has_pages
        self.is_receiving = is_receiving
        self.wanted = asyncio.Event()
        """Set when the next poll should not wait."""
        self.started = time.monotonic()
        self.answered = 0.0
        """When the scheduler last answered a poll (monotonic)."""
        self.failures = 0
        self.refused_since: float | None = None
        self.gap = False
        self.error = ""
        """Why the target is not recorded; "" when it is."""

    @property
    def interval(self) -> float:
        """Seconds between two polls of a scheduler that answers, if nobody looks at its cluster.

        At rest they are longer (clusters/rest.py), by less than charts and rules notice.
        """
        interval = self.pace.between_polls(self.target.identity_interval)
        return max(interval, min(LONGEST_ADMITTED_POLL, interval * self.admitted()))

    @property
    def between(self) -> float:
        return self.rest.longer(self.interval)

    @property
    def is_fresh(self) -> bool:
        """Whether the scheduler answered lately."""
        return time.monotonic() - self.answered < self.between + HANGING

    def stood_still(self, seconds: float) -> None:
        """This process stood still: the scheduler was not silent for that long, nobody asked."""
        self.answered += seconds
        self.started += seconds
        self.wanted.set()

    async def run(self) -> None:
        while True:
            self.wanted.clear()
            requested = time.monotonic()
            try:
                await self._poll_once()
            except FetchError as error:
                await self._unreachable(error)
            except (DatabaseError, psycopg.Error) as error:
                logger.warning(
                    "%s: the database is unavailable: %s", self.target.url, str(error).strip()[:200]
                )
            try:
                async with asyncio.timeout(self.wait(time.monotonic() - requested)):
                    await self.wanted.wait()
            except TimeoutError:
                continue
            # one more poll serves many workers that join together
            await asyncio.sleep(0.1)

    def wait(self, spent: float) -> float:
        """Seconds until the next poll; `spent`: those that the last one took."""
        interval = self.target.identity_interval
        now = time.monotonic()
        if self.refused_since is not None and now - self.refused_since < REFUSED_END:
            return min(SUCCESSOR, interval)
        silent = now - max(self.answered, self.started)
        backoff = interval * 2 ** min(10.0, max(0.0, silent / interval - 15))
        usual = interval if self.has_pages() else self.between
        wait = backoff - spent if self.failures else max(usual - spent, POLL_SHARE * spent)
        longest = max(LONGEST_POLL, interval, usual)
        return max(0.05, min(longest, wait)) * random.uniform(0.9, 1.1)

    async def _poll_once(self) -> None:
        requested = time.monotonic()
        counts = await self._counts()
        identity = await self.identity_poller.poll(counts)
        self.rest.polled(counts, self.is_receiving())
        now = self.clock.now()
        previous = self.tracker.observation
        if identity is not None:
            await self.tracker.follow(identity, requested)
        is_new = self.tracker.observation is not previous
        self._reached(now, is_new)
        if is_new and self.tracker.observation is None:
            self.wanted.set()
        elif is_new and previous is not None:
            counts = await self._counts()  # those above may be of the scheduler that is gone
        observation = self.current()
        if observation is not None and self.tracker.confirmed:
            observation.heartbeats.interval = self.between
            observation.add_poll(identity, counts, requested, now)

    async def _counts(self) -> Counts:
        url = f"{self.target.url}/json/counts.json"
        answer, page = await self.client.get_json(url, IDENTITY_LIMIT)
        self.clock.observe(answer.sent, answer.received, answer.date)
        try:
            return read_counts(page)
        except IdentityError as error:
            raise FetchError(Failure.ANSWER, str(error)) from None

    def _reached(self, now: float, is_new: bool) -> None:
        """Handles an answer of the scheduler. `is_new`: its observation has just started."""
        missed = self.failures and time.monotonic() - self.answered > HANGING + self.between
        if self.tracker.observation is not None and missed and not is_new:
            if not self.gap:
                self._record_gap(self.tracker.observation)
            self.tracker.observation.event("scheduler-reachable", now, "the scheduler answers again")
        self.gap = False
        self.failures = 0
        self.refused_since = None
        self.answered = time.monotonic()
        self.tracker.last_seen = now
        self.error = self.tracker.refusal

    async def _unreachable(self, error: FetchError) -> None:
        """Handles a failed poll: records a gap, or the end of the cluster."""
        self.rest.moved()
        observation = self.current()
        now = time.monotonic()
        self.failures += 1
        # what answers at an address that is no scheduler's stays unsaid: targets can't scan a network
        reason = str(error) if self.answered else "no Dask scheduler answers there"
        self.error = f"{urlsplit(self.target.url).netloc}: {reason}"[:500]
        self.tracker.interrupt()
        refused = error.failure is Failure.REFUSED
        self.refused_since = (self.refused_since or now) if refused else None
        if refused:
            self.identity_poller.scheduler_may_be_new()
        silent = now - max(self.answered, self.started)
        try:
            if self.refused_since is not None:
                if await self.tracker.end_if_agent_ended():
                    return
                if now - self.refused_since >= REFUSED_END:
                    await self.tracker.gone("the scheduler is gone: nothing listens at its address")
            elif silent >= HANGING_END:
                await self.tracker.gone("the scheduler stopped answering")
            elif silent >= HANGING and not self.gap and observation is not None:
                self._record_gap(observation)
        except (DatabaseError, psycopg.Error) as problem:
            logger.warning(
                "%s: cannot record the end of the cluster yet: %s",
                self.target.url,
                str(problem).strip()[:200],
            )

    def _record_gap(self, observation: Observation) -> None:
        self.gap = True
        observation.add_unreachable(observation.heard or self.tracker.last_seen)
