"""Observes one target: polls, scrapes, subscribes and stores, each in its own asyncio task."""

from __future__ import annotations

import asyncio
import logging
import math
import time

from django.db import Error as DatabaseError

from observatory.clusters.models import Target
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.rest import BETWEEN_BATCHES, Rest
from observatory.collect.collector.clusters.tracker import ClusterTracker
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.claims import of_cluster
from observatory.collect.collector.leases.cost import cost
from observatory.collect.collector.load.admission import Demand
from observatory.collect.collector.load.beginnings import LONGEST_BEGINNING
from observatory.collect.collector.load.standstill import StandstillDetector
from observatory.collect.collector.load.ticks import tick
from observatory.collect.collector.polls import Polls
from observatory.collect.collector.shared import Shared
from observatory.collect.collector.writing.flusher import Flusher
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.collector.writing.slowdown import Slowdown
from observatory.collect.credentials.certificates import CertificateError
from observatory.collect.credentials.storage import CredentialsLost, unseal
from observatory.collect.discovery.trust import may_be_this_machine
from observatory.collect.http.addresses import is_local
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Problems
from observatory.collect.scheduler.identity_poller import IdentityPoller
from observatory.collect.stream.subscriber import Subscriber
from observatory.collect.workers.departures import DepartureReader
from observatory.collect.workers.scraping import Scraper, largest_factor, slowed
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.publishing.publication import publish
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.store.target_rows import TargetRow
from observatory.store.times import from_seconds

logger = logging.getLogger(__name__)

REPORT_INTERVAL = 1.0
COMMITTED_MARGIN = 1.0
FIRST_BATCHES = 2
"""One of the first poll, and one of the first scrapes."""
STOP_TIMEOUT = 8.0
"""Most seconds for the last flush."""


class Watcher:
    """Observes one target: `await run()` until cancelled."""

    def __init__(self, target: Target, shared: Shared) -> None:
        self.target = target
        self.shared = shared
        self.client = shared.client
        self.fault = ""
        """Why the target cannot be requested at all; "" when it can."""
        try:
            self.client = shared.client.with_credentials(unseal(target.secret))
        except (CredentialsLost, CertificateError) as error:
            self.fault = str(error)
        self.clock = SchedulerClock(target.clock_offset)
        self.problems = Problems(target.url)
        self.outbox = Outbox(shared.counters)
        self.rest = Rest(self._rest_ended, lambda: shared.pace.between_looks)
        observing = asyncio.Event()
        self.flusher = Flusher(
            self.outbox,
            self.clock.now,
            self._committed_until,
            self._may_write,
            self._publish,
            self._between_batches,
            self.rest.sleep,
            observing,
            shared.load,
            shared.writers.take(),
        )
        admission, project = shared.admission, target.project_id
        self.slowdown = Slowdown(self._waited, lambda: admission.of_workers(project))
        self.scraper = Scraper(
            target,
            self.client,
            shared.counters,
            shared.slots,
            self.clock,
            self._current,
            observing,
            lambda: self.tracker.confirmed,
            lambda: self.slowdown.beside_others,
            lambda: max(self.slowdown.own_factor, admission.of_schedulers(project)),
            lambda: admission.line.turn(project),
            self.rest,
        )
        self.scheduler_client = self.client.for_scheduler(target.url)
        self.departures = DepartureReader(
            target.url, self.scheduler_client, self._current, observing, self.rest
        )
        self.identity_poller = IdentityPoller(self.scheduler_client, target.url, self.clock, self.problems)
        self.tracker = ClusterTracker(
            target,
            shared.claims,
            self.clock,
            self.outbox,
            observing,
            self.identity_poller,
            self.scraper.process_start,
        )
        self.polls = Polls(
            target,
            self.scheduler_client,
            self.clock,
            self.identity_poller,
            self.tracker,
            self._current,
            shared.pace,
            self.slowdown.admitted,
            self.rest,
            lambda: self.has_pages,
            lambda: self.subscriber.state is Target.Stream.RECEIVING,
        )
        self.subscriber = Subscriber(
            target,
            self.client,
            shared.claims,
            self.clock,
            self.problems,
            self._current,
            observing,
            lambda: self.tracker.confirmed,
            lambda: self.polls.answered,
            self.polls.wanted.set,
            self.scraper.wanted.set,
            self._stream_closed,
            self.rest.moved,
        )
        self.began = time.monotonic()
        self.standstill = StandstillDetector()
        self.has_pages = False
        """Whether the cluster had open pages when the last batch was stored, or at rest at the last look."""
        self.stored: TargetRow | None = None
        """What was last stored in the target's row."""

    @property
    def observation(self) -> Observation | None:
        return self.tracker.observation

    @property
    def is_beginning(self) -> bool:
        """Whether its first records, which take longest, aren't stored yet, but may be soon."""
        if self.fault or self.polls.error or time.monotonic() - self.began > LONGEST_BEGINNING:
            return False
        return self.flusher.batches_written < FIRST_BATCHES

    def _current(self) -> Observation | None:
        """The observation, for a record that is added now: after a standstill it begins with the gap."""
        standstill = self.standstill.look()
        observation = self.tracker.observation
        if standstill is not None:
            self.polls.stood_still(standstill.stopped)
            if observation is not None:
                observation.add_standstill(standstill)
        return observation

    def _rest_ended(self) -> None:
        self.polls.wanted.set()
        self.scraper.wanted.set()

    def _stream_closed(self) -> None:
        self.rest.moved()
        self.tracker.interrupt()
        self.identity_poller.scheduler_may_be_new()
        self.polls.wanted.set()

    def _may_write(self) -> bool:
        return self.shared.leases.is_valid(self.target.pk)

    def _between_batches(self) -> float:
        """Least seconds between two batches."""
        if self.has_pages:
            return 0.0
        usual = self.shared.pace.between_batches
        if self.rest.is_now:
            return max(usual, BETWEEN_BATCHES)
        longer = 1.0 if self.is_beginning else self.shared.admission.of_workers(self.target.project_id)
        return min(usual * longer, BETWEEN_BATCHES)

    def _waited(self) -> float:
        """Seconds that the oldest record has waited since it was due to be written."""
        return max(0.0, self.flusher.waited() - self._between_batches())

    def _committed_until(self) -> float:
        is_known = self.observation is not None and self.polls.is_fresh
        return self.clock.now() - COMMITTED_MARGIN if is_known else 0.0

    async def run(self) -> None:
        try:
            if await asyncio.to_thread(may_be_this_machine, self.target):
                self.shared.client.trust(self.target.url)
            self.scraper.is_local = await asyncio.to_thread(is_local, self.target.url)
            async with asyncio.TaskGroup() as tasks:
                if not self.fault:
                    tasks.create_task(self.polls.run())
                for work in (
                    self.scraper.run,
                    self.departures.run,
                    self.subscriber.run,
                    self.flusher.run,
                    self._report,
                ):
                    tasks.create_task(work())
        finally:
            await self._finish()

    async def _finish(self) -> None:
        """Stores what is left, if the lease is still valid."""
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                if self._may_write():
                    self.outbox.report_dropped()
                    await self.flusher.flush()
        except TimeoutError:
            logger.error("%s: %d records could not be stored in time", self.target.url, self.outbox.length)
        self.shared.admission.demands.pop(self.target.pk, None)
        await self.shared.writers.release(self.flusher.thread, self.flusher.clusters)

    async def _report(self) -> None:
        """At each look renews claims and settles why workers left; updates the target's row when due."""
        updated = -math.inf
        while True:
            await tick(max(REPORT_INTERVAL, self.shared.pace.between_looks))
            observation = self._current()
            if observation is not None:
                observation.membership.settle()
                self.outbox.make_room_for(len(observation.membership.members))
                self._record_slowdown(observation)
                self._report_demand(observation)
                await self.shared.claims.hold(of_cluster(observation.cluster.pk), self.target.pk)
                scheduler_id = observation.cluster.scheduler_id
                await self.shared.claims.hold(f"stream:{scheduler_id}", self.target.pk)
                if self.rest.is_now:
                    await self._look_for_pages(observation.cluster.pk)
            try:
                await self.tracker.save_ends()
                if time.monotonic() - updated >= self.shared.pace.between_updates:
                    updated = time.monotonic()
                    await self._update_target(observation)
            except DatabaseError as error:
                logger.warning("%s: cannot update the target: %s", self.target.url, str(error).strip()[:200])

    def _report_demand(self, observation: Observation) -> None:
        workers = len(observation.membership.members)
        interval = self.target.metrics_interval
        requests = (1 + workers) / interval + 2 / self.target.identity_interval
        self.shared.admission.demands[self.target.pk] = Demand(
            self.target.project_id, requests, self._waited(), workers / interval, largest_factor(interval)
        )

    def _record_slowdown(self, observation: Observation) -> None:
        period = self.slowdown.ended_period(self.clock.now())
        if period is not None:
            observation.add_slowdown(period, self.flusher.explain())

    async def _update_target(self, observation: Observation | None) -> None:
        status = self._status(observation)
        if status != self.stored and self._may_write():
            await self.shared.rows.update(status)
            self.stored = status
        if observation is not None:
            await self._store_metric_help(observation)

    def _status(self, observation: Observation | None) -> TargetRow:
        last_seen, limit = self.tracker.last_seen, observation.series_limit if observation else None
        return TargetRow(
            target=self.target.pk,
            last_error=self.fault or self.polls.error,
            stream=str(self.subscriber.shown_state if observation else Target.Stream.UNKNOWN),
            clock_offset=round(self.clock.offset, 3),
            last_seen=from_seconds(last_seen) if last_seen else None,
            series_count=limit.count if limit else None,
            series_refused=len(limit.refused) if limit else None,
            cost=self._cost(observation),
            cluster=observation.cluster.pk if observation else None,
            cluster_seen=from_seconds(observation.heard) if observation and observation.heard else None,
            identity_interval=self.polls.interval,
            metrics_interval=slowed(self.target.metrics_interval, self.slowdown.recorded_factor),
        )

    def _cost(self, observation: Observation | None) -> float:
        workers = len(observation.membership.members) if observation is not None else 0
        return cost(workers, self.target.metrics_interval)

    async def _store_metric_help(self, observation: Observation) -> None:
        """Stores new help texts of metrics."""
        texts = dict(observation.new_help)
        if texts and self._may_write():
            await run_in_django_thread(self.shared.helps.store, texts)
            for metric in texts:
                del observation.new_help[metric]

    async def _look_for_pages(self, cluster: int) -> None:
        self.has_pages = await self.shared.pages.has(cluster)
        if self.has_pages:
            self.rest.moved()

    async def _publish(self, cluster: int, committed: Committed) -> None:
        if committed.agent_rules:
            self.subscriber.cluster_with_agent = cluster
        await self._look_for_pages(cluster)
        if not self.has_pages:
            return
        stream = "agent" if committed.agent_rules else str(self.subscriber.shown_state)
        status = {"stream": stream, **self.tracker.ends.get(cluster, {})}
        intervals = SampleIntervals(self.polls.interval, self.target.metrics_interval)
        await publish(committed, status, intervals)
