"""Observes one target: polls, scrapes and subscribes, each in a task of its own, and stores what comes."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db import Error as DatabaseError

from observatory.clusters.models import Cluster, Target
from observatory.collect import registry
from observatory.collect.addresses import is_near
from observatory.collect.asking import Asker
from observatory.collect.claims import Claims
from observatory.collect.clock import SchedulerClock
from observatory.collect.fetch import IDENTITY_LIMIT, Client, Failure, FetchError
from observatory.collect.figures import Figures
from observatory.collect.identity import Counts, Identity, IdentityError, Problems, read_counts
from observatory.collect.lease import Leases
from observatory.collect.limits import SeriesLimit
from observatory.collect.observation import Observation
from observatory.collect.outbox import Flusher, Outbox
from observatory.collect.registry import in_database, is_unnamed
from observatory.collect.scraping import Scraper
from observatory.collect.subscriber import Subscriber
from observatory.store.committed import Committed
from observatory.store.intervals import Intervals
from observatory.store.publication import publish
from observatory.store.resumption import known_series, open_workers
from observatory.wire.records import Event, WorkerGone

logger = logging.getLogger(__name__)

REFUSED_END = 10.0
"""seconds of refused connections after which a scheduler is gone"""
HANGING = 3.0
"""seconds without an answer after which that is a gap"""
HANGING_END = 300.0
LONGEST_POLL = 10.0
REPORT_INTERVAL = 1.0
COMMITTED_MARGIN = 1.0
STOPPING = 8.0
"""seconds that the last flush may take"""
ANOTHER = "another scheduler answers at its address"


@dataclass(frozen=True, slots=True)
class Shared:
    """What the watchers of one collector share."""

    client: Client
    claims: Claims
    leases: Leases
    figures: Figures
    slots: asyncio.Semaphore
    """bounds the requests to workers that run at the same time"""


class Watcher:
    """One target under observation. `await run()` until it is cancelled."""

    def __init__(self, target: Target, shared: Shared) -> None:
        self.target = target
        self.shared = shared
        self.clock = SchedulerClock(target.clock_offset)
        self.problems = Problems(target.url)
        self.outbox = Outbox(shared.figures)
        self.asker = Asker(shared.client, target.url, self.clock, self.problems)
        self.observation: Observation | None = None
        self.scraper = Scraper(target, shared.client, shared.figures, shared.slots, self.clock, self._current)
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
        self.answered = 0.0
        """when the scheduler last answered a poll, monotonic"""
        self.last_seen = 0.0
        """the same on the scheduler's clock"""
        self.confirmed = False
        """whether it is certain that the observed scheduler is the one that answers"""
        self.failures = 0
        self.refused_since: float | None = None
        self.gap = False
        self.error = ""
        self.ends: dict[int, dict[str, Any]] = {}
        """ended and end_reason of clusters that ended"""
        self.reported: dict[str, Any] = {}

    def _current(self) -> Observation | None:
        return self.observation

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
            try:
                await self._poll_once()
            except FetchError as error:
                await self._unreachable(error)
            except DatabaseError as error:
                logger.warning("%s: the database is away: %s", self.target.url, str(error).strip()[:200])
            wait = self.target.identity_interval * 2 ** min(10, max(0, self.failures - 15))
            try:
                async with asyncio.timeout(
                    min(max(LONGEST_POLL, self.target.identity_interval), wait) * random.uniform(0.9, 1.1)
                ):
                    await self.polling.wait()
            except TimeoutError:
                continue
            # many workers that join together are worth one more poll, not one each
            await asyncio.sleep(0.1)

    async def _poll_once(self) -> None:
        asked = time.monotonic()
        counts = await self._counts()
        eager = self.observation is None or not self.confirmed or is_unnamed(self.observation.cluster)
        identity = await self.asker.ask(counts, eager)
        moment = self.clock.now()
        if identity is not None:
            await self._recognise(identity)
        self._reached(moment)
        if self.observation is not None:
            self.observation.polled(identity, counts, asked, moment)

    async def _counts(self) -> Counts:
        url = f"{self.target.url}/json/counts.json"
        answer, page = await self.shared.client.get_json(url, IDENTITY_LIMIT)
        self.clock.observe(answer.sent, answer.received, answer.date)
        try:
            return read_counts(page)
        except IdentityError as error:
            raise FetchError(Failure.ANSWER, str(error)) from None

    async def _recognise(self, identity: Identity) -> None:
        """Follows the scheduler that answers: the one observed, or another one."""
        if not identity.scheduler_id:
            await self._recognise_unnamed(identity)
            return
        if self.observation is not None:
            if await self._is_observed(self.observation.cluster, identity):
                self.confirmed = True
                return
            await self._end(ANOTHER)
        await self._begin(*await in_database(registry.cluster_of, self.target, identity))

    async def _is_observed(self, cluster: Cluster, identity: Identity) -> bool:
        """Whether the scheduler is that of the observed cluster, which gets its id if it had none."""
        if is_unnamed(cluster):
            return await in_database(registry.name_cluster, cluster, identity)
        return cluster.scheduler_id == identity.scheduler_id

    async def _recognise_unnamed(self, identity: Identity) -> None:
        """The scheduler can't say its id now: is it the one that was observed?"""
        known = self.observation
        if (known is not None and self.confirmed) or self.asker.failures < 2:
            return
        started = await self.scraper.process_start()
        if known is not None:
            new = started and known.process_start and started > known.process_start + registry.STARTING
            if not new:
                self.confirmed = True
                return
            await self._end(ANOTHER)
        found = await in_database(
            registry.unnamed_cluster_of, self.target, identity.address, started or self.clock.now()
        )
        await self._begin(*found)

    async def _begin(self, cluster: Cluster, fresh: bool) -> None:
        """Observes a cluster from now on."""
        if not await self.shared.claims.hold(f"cluster:{cluster.pk}", self.target.pk):
            self.error = "another target of this project observes the same scheduler"
            return
        for other in await in_database(registry.others_alive, self.target, cluster):
            await self._end_forgotten(other)
        series = await asyncio.to_thread(known_series, cluster.pk)
        self.outbox.open(cluster.pk)
        observation = Observation(
            cluster, fresh, self.outbox, self.clock, SeriesLimit(self.target.series_limit, series)
        )
        for address in await asyncio.to_thread(open_workers, cluster.pk):
            observation.membership.remember(address, self.clock.now())
        if cluster.ended is not None:
            await in_database(registry.reopen_cluster, cluster.pk)
            self.ends.pop(cluster.pk, None)
            observation.event("scheduler-reachable", self.clock.now(), "the scheduler answers again")
        self.gap = False
        self.confirmed = True
        self.observation = observation
        logger.info("%s: observing %s", self.target.url, cluster.scheduler_id)

    async def _end_forgotten(self, cluster: Cluster) -> None:
        """Ends a cluster that an earlier collector left open: its scheduler is gone."""
        last_seen = cluster.last_seen.timestamp()
        self.outbox.open(cluster.pk)
        for address in await asyncio.to_thread(open_workers, cluster.pk):
            self.outbox.add(WorkerGone(address, last_seen, "cluster-ended"))
        self.outbox.add(Event(last_seen, "cluster-ended", "", {"message": ANOTHER}))
        await self._ended(cluster.pk, last_seen, ANOTHER)

    async def _end(self, reason: str) -> None:
        """Ends the observed cluster at the moment it was last seen."""
        observation = self.observation
        if observation is None:
            return
        ended = max(self.last_seen, observation.cluster.started.timestamp())
        observation.membership.end(ended)
        observation.event("cluster-ended", ended, reason)
        self.observation = None
        self.confirmed = self.gap = False
        self.asker.failures = 0
        logger.info("%s: %s ended: %s", self.target.url, observation.cluster.scheduler_id, reason)
        await self._ended(observation.cluster.pk, ended, reason)

    async def _ended(self, cluster: int, ended: float, reason: str) -> None:
        self.ends[cluster] = {"ended": ended, "end_reason": reason}
        await in_database(registry.end_cluster, cluster, ended, reason)

    def _reached(self, moment: float) -> None:
        """The scheduler answered."""
        missed = time.monotonic() - self.answered
        if (
            self.observation is not None
            and self.failures
            and missed > HANGING + self.target.identity_interval
        ):
            if not self.gap:
                self._tell_gap(self.observation)
            self.observation.event("scheduler-reachable", moment, "the scheduler answers again")
        self.gap = False
        self.failures = 0
        self.refused_since = None
        self.answered = time.monotonic()
        self.last_seen = moment
        if self.observation is not None:
            self.error = ""

    async def _unreachable(self, error: FetchError) -> None:
        """The scheduler didn't answer: it hangs, or it is gone."""
        now = time.monotonic()
        self.failures += 1
        self.error = f"{urlsplit(self.target.url).netloc}: {error}"[:500]
        self.confirmed = False
        refused = error.failure is Failure.REFUSED
        self.refused_since = (self.refused_since or now) if refused else None
        if self.observation is None:
            return
        if self.refused_since is not None:
            if now - self.refused_since >= REFUSED_END:
                await self._end("the scheduler is gone: nothing listens at its address")
        elif now - self.answered >= HANGING_END:
            await self._end("the scheduler stopped answering")
        elif now - self.answered >= HANGING and not self.gap:
            self._tell_gap(self.observation)

    def _tell_gap(self, observation: Observation) -> None:
        self.gap = True
        message = "the scheduler doesn't answer: what follows is a gap"
        observation.event("scheduler-unreachable", self.last_seen, message)

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
                await self._write_report(observation)
            except DatabaseError as error:
                logger.warning("%s: can't be reported on: %s", self.target.url, str(error).strip()[:200])

    async def _write_report(self, observation: Observation | None) -> None:
        fields: dict[str, Any] = {
            "last_error": self.error,
            "stream": self.subscriber.state if observation else Target.Stream.UNKNOWN,
            "clock_offset": round(self.clock.offset, 3),
        }
        if self.last_seen:
            fields["last_seen"] = registry.moment(self.last_seen)
        if observation is not None:
            fields["series_count"] = len(observation.limit.known)
            fields["series_refused"] = len(observation.limit.refused)
        changed = {name: value for name, value in fields.items() if self.reported.get(name) != value}
        if changed and self._may_write():
            await in_database(registry.report, self.target.pk, self.shared.leases.holder, changed)
            self.reported.update(changed)
            if observation is not None and "last_seen" in changed:
                await in_database(registry.saw_cluster, observation.cluster.pk, self.last_seen)

    async def _publish(self, cluster: int, committed: Committed) -> None:
        status = {"stream": str(self.subscriber.state), **self.ends.get(cluster, {})}
        intervals = Intervals(self.target.identity_interval, self.target.metrics_interval)
        await publish(committed, status, intervals)
