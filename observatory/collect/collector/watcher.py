"""Observes one target: polls, scrapes and subscribes, each in a task of its own, and stores what comes."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.db import Error as DatabaseError

from observatory.clusters.models import Target
from observatory.collect.collector import registry
from observatory.collect.collector.claims import Claims
from observatory.collect.collector.cluster_tracker import ClusterTracker
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.lease import Leases
from observatory.collect.collector.observation import Observation
from observatory.collect.collector.outbox import Flusher, Outbox
from observatory.collect.http.addresses import is_near
from observatory.collect.http.fetch import IDENTITY_LIMIT, Failure, FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Counts, IdentityError, Problems, read_counts
from observatory.collect.scheduler.identity_poller import IdentityPoller
from observatory.collect.stream.subscriber import Subscriber
from observatory.collect.workers.scraping import Scraper
from observatory.store.ingest.committed import Committed
from observatory.store.ingest.intervals import Intervals
from observatory.store.ingest.publication import publish
from observatory.store.times import from_seconds

logger = logging.getLogger(__name__)

REFUSED_END = 10.0
"""seconds of refused connections after which a scheduler is gone"""
HANGING = 3.0
"""seconds without an answer after which that is a gap"""
HANGING_END = 300.0
LONGEST_POLL = 10.0
POLL_SHARE = 4.0
"""times the duration of a poll that the scheduler is left alone after it: counting tasks takes it long"""
REPORT_INTERVAL = 1.0
COMMITTED_MARGIN = 1.0
STOPPING = 8.0
"""seconds that the last flush may take"""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the watchers of one collector share."""

    client: HttpClient
    claims: Claims
    leases: Leases
    counters: Counters
    slots: asyncio.Semaphore
    """bounds the requests to workers that run at the same time"""


class Watcher:
    """One target under observation. `await run()` until it is cancelled."""

    def __init__(self, target: Target, shared: Shared) -> None:
        self.target = target
        self.shared = shared
        self.clock = SchedulerClock(target.clock_offset)
        self.problems = Problems(target.url)
        self.outbox = Outbox(shared.counters)
        self.identity_poller = IdentityPoller(shared.client, target.url, self.clock, self.problems)
        self.scraper = Scraper(
            target, shared.client, shared.counters, shared.slots, self.clock, self._current
        )
        self.tracker = ClusterTracker(
            target, shared.claims, self.clock, self.outbox, self.identity_poller, self.scraper.process_start
        )
        self.subscriber = Subscriber(
            target,
            shared.client,
            shared.claims,
            self.clock,
            self.problems,
            self._current,
            lambda: self.answered,
            self._poll_now,
        )
        self.flusher = Flusher(
            self.outbox, self.clock.now, self._committed_until, self._may_write, self._publish
        )
        self.polling = asyncio.Event()
        self.started = time.monotonic()
        self.answered = 0.0
        """when the scheduler last answered a poll, monotonic"""
        self.failures = 0
        self.refused_since: float | None = None
        self.gap = False
        self.error = ""
        self.reported: dict[str, Any] = {}

    @property
    def observation(self) -> Observation | None:
        return self.tracker.observation

    def _current(self) -> Observation | None:
        return self.tracker.observation

    def _poll_now(self) -> None:
        self.polling.set()

    def _may_write(self) -> bool:
        return self.shared.leases.is_valid(self.target.pk)

    def _committed_until(self) -> float:
        fresh = time.monotonic() - self.answered < self.target.identity_interval + HANGING
        return self.clock.now() - COMMITTED_MARGIN if self.observation is not None and fresh else 0.0

    async def run(self) -> None:
        self.shared.client.trust(self.target.url)
        self.scraper.near = await asyncio.to_thread(is_near, self.target.url)
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self._poll,
                    self.scraper.run,
                    self.subscriber.run,
                    self.flusher.run,
                    self._report,
                ):
                    tasks.create_task(work())
        finally:
            await self._finish()

    async def _finish(self) -> None:
        """Stores what is left, if the lease is still ours."""
        try:
            async with asyncio.timeout(STOPPING):
                if self._may_write():
                    await self.flusher.flush()
        except TimeoutError:
            logger.error("%s: %d records were not stored in time", self.target.url, self.outbox.length)
        await asyncio.to_thread(self.flusher.close)

    async def _poll(self) -> None:
        while True:
            self.polling.clear()
            asked = time.monotonic()
            try:
                await self._poll_once()
            except FetchError as error:
                await self._unreachable(error)
            except (DatabaseError, psycopg.Error) as error:
                logger.warning("%s: the database is away: %s", self.target.url, str(error).strip()[:200])
            try:
                async with asyncio.timeout(self._poll_wait(time.monotonic() - asked)):
                    await self.polling.wait()
            except TimeoutError:
                continue
            # many workers that join together are worth one more poll, not one each
            await asyncio.sleep(0.1)

    def _poll_wait(self, spent: float) -> float:
        interval = self.target.identity_interval
        backoff = interval * 2 ** min(10, max(0, self.failures - 15))
        wait = backoff - spent if self.failures else max(interval - spent, POLL_SHARE * spent)
        return max(0.05, min(max(LONGEST_POLL, interval), wait)) * random.uniform(0.9, 1.1)

    async def _poll_once(self) -> None:
        asked = time.monotonic()
        counts = await self._counts()
        identity = await self.identity_poller.ask(counts, self.tracker.is_eager())
        moment = self.clock.now()
        before = self.observation
        if identity is not None:
            await self.tracker.follow(identity)
        self._reached(moment, is_new=self.observation is not before)
        if self.observation is not None and self.tracker.confirmed:
            self.observation.polled(identity, counts, asked, moment)

    async def _counts(self) -> Counts:
        url = f"{self.target.url}/json/counts.json"
        answer, page = await self.shared.client.get_json(url, IDENTITY_LIMIT)
        self.clock.observe(answer.sent, answer.received, answer.date)
        try:
            return read_counts(page)
        except IdentityError as error:
            raise FetchError(Failure.ANSWER, str(error)) from None

    def _reached(self, moment: float, is_new: bool) -> None:
        """The scheduler answered; `is_new`: its observation began just now."""
        missed = self.failures and time.monotonic() - self.answered > HANGING + self.target.identity_interval
        if self.observation is not None and missed and not is_new:
            if not self.gap:
                self._tell_gap(self.observation)
            self.observation.event("scheduler-reachable", moment, "the scheduler answers again")
        self.gap = False
        self.failures = 0
        self.refused_since = None
        self.answered = time.monotonic()
        self.tracker.last_seen = moment
        self.error = self.tracker.refusal

    async def _unreachable(self, error: FetchError) -> None:
        """The scheduler didn't answer: it hangs, or it is gone."""
        now = time.monotonic()
        self.failures += 1
        # what answers at an address that is no scheduler's stays unsaid: targets can't scan a network
        reason = str(error) if self.answered else "no Dask scheduler answers there"
        self.error = f"{urlsplit(self.target.url).netloc}: {reason}"[:500]
        self.tracker.confirmed = False
        refused = error.failure is Failure.REFUSED
        self.refused_since = (self.refused_since or now) if refused else None
        silent = now - max(self.answered, self.started)
        try:
            if self.refused_since is not None:
                if now - self.refused_since >= REFUSED_END:
                    await self.tracker.gone("the scheduler is gone: nothing listens at its address")
            elif silent >= HANGING_END:
                await self.tracker.gone("the scheduler stopped answering")
            elif silent >= HANGING and not self.gap and self.observation is not None:
                self._tell_gap(self.observation)
        except (DatabaseError, psycopg.Error) as problem:
            logger.warning("%s: its end can't be told yet: %s", self.target.url, str(problem).strip()[:200])

    def _tell_gap(self, observation: Observation) -> None:
        self.gap = True
        message = "the scheduler doesn't answer: what follows is a gap"
        observation.event("scheduler-unreachable", self.tracker.last_seen, message)

    async def _report(self) -> None:
        """Says each second how it goes, in the target's row, and settles what has become certain."""
        while True:
            await asyncio.sleep(REPORT_INTERVAL)
            observation = self.observation
            if observation is not None:
                observation.membership.settle()
                await self.shared.claims.hold(f"cluster:{observation.cluster.pk}", self.target.pk)
                scheduler_id = observation.cluster.scheduler_id
                await self.shared.claims.hold(f"stream:{scheduler_id}", self.target.pk)
            try:
                await self.tracker.tell_ends()
                await self._write_report(observation)
            except DatabaseError as error:
                logger.warning("%s: can't be reported on: %s", self.target.url, str(error).strip()[:200])

    async def _write_report(self, observation: Observation | None) -> None:
        fields: dict[str, Any] = {
            "last_error": self.error,
            "stream": self.subscriber.state if observation else Target.Stream.UNKNOWN,
            "clock_offset": round(self.clock.offset, 3),
        }
        last_seen = self.tracker.last_seen
        if last_seen:
            fields["last_seen"] = from_seconds(last_seen)
        if observation is not None:
            fields["series_count"] = len(observation.series_limit.known)
            fields["series_refused"] = len(observation.series_limit.refused)
        changed = {name: value for name, value in fields.items() if self.reported.get(name) != value}
        if changed and self._may_write():
            await run_in_django_thread(registry.report, self.target.pk, self.shared.leases.holder, changed)
            self.reported.update(changed)
            if observation is not None and "last_seen" in changed:
                await run_in_django_thread(
                    registry.saw_cluster, observation.cluster.pk, last_seen, self.target
                )
        if observation is not None:
            await self._describe(observation)

    async def _describe(self, observation: Observation) -> None:
        """Stores what metrics mean that were met since."""
        helps = dict(observation.helps)
        if helps and self._may_write():
            await run_in_django_thread(registry.describe, helps)
            for metric in helps:
                del observation.helps[metric]

    async def _publish(self, cluster: int, committed: Committed) -> None:
        stream = "agent" if committed.agent_rules else str(self.subscriber.state)
        status = {"stream": stream, **self.tracker.ends.get(cluster, {})}
        if committed.agent_rules:
            self.subscriber.agent_reports_of = cluster
        intervals = Intervals(self.target.identity_interval, self.target.metrics_interval)
        await publish(committed, status, intervals)
