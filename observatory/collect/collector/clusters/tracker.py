"""Tracks which cluster a target shows as schedulers start, end and return at its address."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from observatory.clusters.end_reasons import MISSED
from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.clusters import registry
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.registry import is_unnamed
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.claims import Claims, of_cluster
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Identity
from observatory.collect.scheduler.identity_poller import IdentityPoller
from observatory.collect.scheduler.prefix_series import PrefixSeries
from observatory.collect.stream.beginning import Beginning
from observatory.store.ingest.resumption import Recorded, recorded
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.records import Event

logger = logging.getLogger(__name__)

SHORTEST_GAP = 3.0
"""Seconds between the last stored record and the start of an observation that count as a gap."""
ANOTHER = "another scheduler answers at its address"


class ClusterTracker:
    """The clusters of one target, of which at most one is observed at a time. For one asyncio task."""

    def __init__(
        self,
        target: Target,
        claims: Claims,
        clock: SchedulerClock,
        outbox: Outbox,
        observing: asyncio.Event,
        identity_poller: IdentityPoller,
        process_start: Callable[[], Awaitable[float | None]],
    ) -> None:
        self.target = target
        self.claims = claims
        self.clock = clock
        self.outbox = outbox
        self.observing = observing
        """Set while there is an observation: without one, nothing else of the target has to wake up."""
        self.identity_poller = identity_poller
        self.process_start = process_start
        self.observation: Observation | None = None
        self.offset = target.clock_offset
        """The clock's offset when the last records were stored."""
        self.confirmed = False
        """Whether the answering scheduler is known to be that of the observed cluster."""
        self.interrupted = -math.inf
        """When the event stream closed or a poll failed (monotonic): another scheduler may answer since."""
        self.last_seen = 0.0
        """When a scheduler last answered, on its clock."""
        self.last_end = 0.0
        """When the last cluster ended, on its scheduler's clock."""
        self.refusal = ""
        """Why the answering scheduler is not observed; "" when it is."""
        self.ends: dict[int, dict[str, Any]] = {}
        """Cluster.end of the clusters that ended or were reopened, by primary key."""
        self.unsaved_ends: set[int] = set()
        """Clusters whose end is not in the database yet."""
        self.erred: dict[int, ErredTaskCount] = {}
        """By cluster. What is stored may lack counts that still wait in the outbox."""
        self.has_ended_others = False
        """Whether clusters that an earlier collector left open were ended."""

    def interrupt(self) -> None:
        """Another scheduler may answer from now on: the event stream closed, or a poll failed."""
        self.confirmed = False
        self.interrupted = time.monotonic()

    def _confirm(self, requested: float) -> None:
        """The observed scheduler answered a request of that time (monotonic)."""
        self.confirmed = self.confirmed or requested > self.interrupted

    async def follow(self, identity: Identity, requested: float) -> None:
        """Observes the cluster of the answering scheduler: the current one or another.

        `requested`: when the identity was requested (monotonic). Raises django.db.Error and
        psycopg.OperationalError.
        """
        if not identity.scheduler_id:
            await self._follow_unnamed(identity, requested)
            return
        if self.observation is not None:
            if await self._is_observed(self.observation.cluster, identity):
                self._confirm(requested)
                return
            await self.end(ANOTHER)
        await self._begin(*await run_in_django_thread(registry.cluster_of, self.target, identity), requested)

    async def _is_observed(self, cluster: Cluster, identity: Identity) -> bool:
        """Whether the scheduler is that of the observed cluster. Replaces a provisional id by its own."""
        if is_unnamed(cluster):
            return await run_in_django_thread(registry.name_cluster, cluster, identity)
        return cluster.scheduler_id == identity.scheduler_id

    async def _follow_unnamed(self, identity: Identity, requested: float) -> None:
        """Handles an answer without the scheduler's id: compares what else tells schedulers apart."""
        known = self.observation
        if known is not None:
            was_confirmed = self.confirmed
            if await self._is_another(known, identity):
                # its successor may tell its id at once
                await self.end(ANOTHER)
            elif was_confirmed and known.membership.is_replaced_by(identity):
                # decided by its id, or at the next poll
                self.confirmed = False
                self.identity_poller.scheduler_may_be_new()
            elif was_confirmed or identity.workers or not known.membership.listed:
                self._confirm(requested)
            return
        if self.identity_poller.failures:
            started = await self.process_start() or self.clock.now()
            found = await run_in_django_thread(
                registry.unnamed_cluster_of, self.target, identity.address, max(started, self.last_end)
            )
            await self._begin(*found, requested)

    async def _is_another(self, known: Observation, identity: Identity) -> bool:
        """Whether a scheduler that does not tell its id is not that of the observed cluster.

        One process can have several schedulers, one after another, even at the same address. Two such have no
        worker in common. Nor have two moments of a cluster that was restarted while its stream was not
        received: it is reopened when it tells its id.
        """
        if known.cluster.address and identity.address != known.cluster.address:
            return True
        if self.confirmed:
            return False
        if known.membership.is_replaced_by(identity):
            return True
        started = await self.process_start()
        return bool(started and known.process_start and started > known.process_start + registry.STARTING)

    async def _begin(self, cluster: Cluster, fresh: bool, requested: float) -> None:
        """Starts observing a cluster."""
        if not await self.claims.hold(of_cluster(cluster.pk), self.target.pk):
            self.refusal = "another target of this project observes the same scheduler"
            return
        self.refusal = ""
        await self._end_others(keep=cluster.pk)
        before = Recorded() if fresh else await asyncio.to_thread(recorded, cluster.pk)
        self.outbox.open(cluster.pk)
        limit = SeriesLimit(self.target.series_limit, before.series)
        observation = Observation(cluster, self.outbox, self.clock, limit, self._erred(cluster, before))
        observation.prefix_series = PrefixSeries(before.series)
        for address in before.workers:
            observation.membership.resume(address, self.clock.now())
        if cluster.ended is not None:
            await run_in_django_thread(registry.reopen_cluster, cluster.pk)
        if cluster.ended is not None or self._has_ended(cluster.pk):
            self.unsaved_ends.discard(cluster.pk)
            self.ends[cluster.pk] = {"ended": None, "end_reason": ""}
            observation.event("scheduler-reachable", self.clock.now(), "the scheduler answers again")
        if fresh:
            observation.beginning = Beginning(cluster.started.timestamp())
        else:
            self._record_gap(observation, before.until)
        self._confirm(requested)
        self.observation = observation
        self.observing.set()
        logger.info("%s: observes %s", self.target.url, cluster.scheduler_id)

    def _has_ended(self, cluster: int) -> bool:
        return self.ends.get(cluster, {"ended": None})["ended"] is not None

    def _erred(self, cluster: Cluster, before: Recorded) -> ErredTaskCount:
        """The count of the cluster's erred tasks: continues that of this or an earlier collector."""
        return self.erred.setdefault(cluster.pk, ErredTaskCount(before.errors))

    def _record_gap(self, observation: Observation, until: float) -> None:
        """Records the time in which no collector observed the cluster, for whatever reason.

        `until`: the time until which all is stored, on the scheduler's clock.
        """
        now = self.clock.now()
        # by our clock: the scheduler's may have been set back meanwhile
        passed = time.time() - (until - self.offset)
        if until and max(passed, now - until) > SHORTEST_GAP:
            set_back = until - (now - passed)
            reason = "no collector observed the cluster"
            if set_back > SHORTEST_GAP:
                reason += f", and the scheduler's clock was set back by {set_back:.0f} s"
            observation.add_gap(min(until, now - passed), now, reason)

    async def _end_others(self, keep: int | None = None) -> None:
        """Ends the target's other open clusters, left by earlier collectors: nobody saw their end.

        Those with an agent end by it, or by its silence: the target may have had their address before.
        """
        for cluster in await run_in_django_thread(registry.live_clusters, self.target):
            if cluster.pk == keep or cluster.pk in self.unsaved_ends or cluster.agent_heard is not None:
                continue
            last_seen = cluster.last_seen.timestamp()
            self.outbox.open(cluster.pk)
            self.outbox.add(Event(last_seen, CLUSTER_ENDED, "", {"message": MISSED}))
            await self._save_end(cluster.pk, last_seen, MISSED)
        self.has_ended_others = True

    async def end(self, reason: str) -> None:
        """Ends the observed cluster at the time it was last heard."""
        if self.observation is not None:
            started = self.observation.cluster.started.timestamp()
            ended = max(self.observation.heard, started)
            await self._end(self.observation, ended, reason)

    async def end_if_agent_ended(self) -> bool:
        """Ends the observed cluster if its agent has ended it, at the agent's time and for its reason."""
        if self.observation is None:
            return False
        end = await run_in_django_thread(registry.end_of, self.observation.cluster.pk)
        if end is not None:
            await self._end(self.observation, end["ended"], end["end_reason"])
        return end is not None

    async def _end(self, observation: Observation, ended: float, reason: str) -> None:
        observation.report_beginning(ended)
        observation.membership.end(ended)
        observation.event(CLUSTER_ENDED, ended, reason)
        self.observation = None
        self.observing.clear()
        self.confirmed = False
        self.last_end = ended
        self.offset = self.clock.offset
        self.identity_poller.scheduler_may_be_new()
        logger.info("%s: %s ended: %s", self.target.url, observation.cluster.scheduler_id, reason)
        await self._save_end(observation.cluster.pk, ended, reason)

    async def gone(self, reason: str) -> None:
        """Ends the cluster because nothing answers at the address any more."""
        if self.observation is not None:
            await self.end(reason)
        elif not self.has_ended_others:
            await self._end_others()

    async def _save_end(self, cluster: int, ended: float, reason: str) -> None:
        self.ends[cluster] = {"ended": ended, "end_reason": reason}
        self.unsaved_ends.add(cluster)
        await self.save_ends()

    async def save_ends(self) -> None:
        """Stores the ends of clusters that are not in the database yet. Raises django.db.Error."""
        for cluster in list(self.unsaved_ends):
            end = self.ends[cluster]
            self.ends[cluster] = await run_in_django_thread(
                registry.end_cluster, cluster, end["ended"], end["end_reason"]
            )
            self.unsaved_ends.discard(cluster)
