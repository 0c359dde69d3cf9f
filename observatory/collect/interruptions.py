"""Notices live clusters whose recording is interrupted, and records when it began and ended as two events.

- `agent-silent`, `agent-heard`: the agent sent nothing for LIMIT seconds, or its batches are refused.
- `collector-behind`, `collector-caught-up`: what the collector read is stored over LIMIT seconds late, while
  the scheduler answers.

An interruption that Observatory itself caused by being away is none: it has to have listened for LIMIT
seconds before. Both also end with the cluster.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import psycopg
import redis
from django.db.models import Q
from django.utils.timezone import now

from observatory.clusters.formatting import format_duration
from observatory.clusters.live.scheduler_clock import scheduler_time
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_refusals
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.publishing.publication import publish_sync
from observatory.store.queries.alerts.events import Asked, last_events
from observatory.store.queries.extents import Extent, extents
from observatory.wire.event_kinds import AGENT_HEARD, AGENT_SILENT, COLLECTOR_BEHIND, COLLECTOR_CAUGHT_UP
from observatory.wire.records import Event

log = logging.getLogger(__name__)

LIMIT = 60.0
"""seconds. An agent that could not send tries again within 38 s"""
LISTENING = "observatory:listening"
FORGOTTEN = 30
"""seconds without a look after which Observatory counts as having been away"""


@dataclass(frozen=True, slots=True)
class Interruption:
    field: str
    """of Cluster: when it was noticed"""
    opens: str
    closes: str
    seconds: Callable[[Cluster, Extent, float], float]
    """for which it has lasted; 0: there is none"""
    reason: Callable[[Cluster, float], str]
    over: str


def silence(cluster: Cluster, extent: Extent, at: float) -> float:
    return 0.0 if cluster.agent_heard is None else at - cluster.agent_heard.timestamp()


def lag(cluster: Cluster, extent: Extent, at: float) -> float:
    """By which the collector's records are stored late. While the scheduler doesn't answer there are none."""
    target = cluster.target
    is_read = target is not None and target.enabled and not target.last_error and cluster.agent_heard is None
    if target is None or not is_read or not extent.committed:
        return 0.0
    if target.lease_expires is None or target.lease_expires.timestamp() < at:
        return 0.0  # no collector has it
    return scheduler_time(cluster, extent, at) - extent.committed - 2 * target.identity_interval


def _why_silent(cluster: Cluster, seconds: float) -> str:
    """Names the refusals of the project's tokens: the silent agent's may be one of them."""
    refused = "; ".join(
        f"batches with the token {refusal.token.name} are refused: {refusal}"
        for refusal in ingest_refusals.current(cluster.project)[:3]
        if refusal.token is not None
    )
    text = f"nothing was heard from its agent for {format_duration(seconds)}"
    return f"{text}; {refused}" if refused else text


def _why_behind(cluster: Cluster, seconds: float) -> str:
    return f"what the collector reads is stored {format_duration(seconds)} late"


INTERRUPTIONS = (
    Interruption(
        "agent_silent", AGENT_SILENT, AGENT_HEARD, silence, _why_silent, "its agent was heard again"
    ),
    Interruption(
        "collector_behind", COLLECTOR_BEHIND, COLLECTOR_CAUGHT_UP, lag, _why_behind, "it is no longer behind"
    ),
)


def listening_for(client: redis.Redis, at: float) -> float:
    """Seconds for which Observatory has been looking without a pause; to be called at each look."""
    known = client.get(LISTENING)
    since = at if known is None else float(known)
    client.set(LISTENING, since, ex=FORGOTTEN)
    return at - since


def note_interruptions(listening: float) -> None:
    """Records interruptions that began or ended. `listening`: as `listening_for` returns it."""
    at = time.time()
    noticed = Q(agent_silent__isnull=False) | Q(collector_behind__isnull=False)
    clusters = Cluster.objects.filter(noticed | Q(pk__in=_quiet(at))).select_related("project", "target")
    if not clusters:
        return
    with connect() as connection:
        changes = list(_changes(connection, clusters, listening, at))
    with JointWriter() as writer:
        for interruption in INTERRUPTIONS:
            for kind, noticed_at in ((interruption.opens, now()), (interruption.closes, None)):
                batches = [
                    Batch.of(cluster.pk, events=[event]) for cluster, event in changes if event.kind == kind
                ]
                stored = list(_stored(writer.write_together(batches)))
                found = Cluster.objects.filter(pk__in=[committed.extent.cluster for committed in stored])
                found.update(**{interruption.field: noticed_at})
                for committed in stored:
                    publish_sync(committed)


def _quiet(at: float) -> list[int]:
    """The live clusters of which nothing new came for LIMIT: of a thousand mostly none."""
    live = Cluster.objects.filter(ended=None).order_by()
    known = list(live.values_list("pk", "agent_heard", "target__clock_offset"))
    stored = extents(key for key, _, _ in known)
    return [
        key
        for key, heard, offset in known
        if key in stored
        and (
            (heard is not None and at - heard.timestamp() > LIMIT)
            or (offset is not None and at + offset - stored[key].committed > LIMIT)
        )
    ]


def _stored(results: Iterable[Committed | Exception]) -> Iterator[Committed]:
    """Those of the batches that were stored: the others are noticed at the next look."""
    for result in results:
        if isinstance(result, Exception):
            log.warning("an interruption cannot be recorded: %r", result)
        else:
            yield result


def _changes(
    connection: psycopg.Connection, clusters: Iterable[Cluster], listening: float, at: float
) -> Iterator[tuple[Cluster, Event]]:
    found = list(clusters)
    stored = extents(cluster.pk for cluster in found)
    for cluster in found:
        extent = stored.get(cluster.pk)
        if extent is None:
            continue
        for interruption in INTERRUPTIONS:
            since: datetime | None = getattr(cluster, interruption.field)
            seconds = 0.0 if cluster.ended else interruption.seconds(cluster, extent, at)
            if since is None and min(seconds, listening) > LIMIT:
                detail = {"message": interruption.reason(cluster, seconds)}
                yield cluster, Event(scheduler_time(cluster, extent, at), interruption.opens, "", detail)
            elif since is not None and seconds <= LIMIT:
                yield cluster, _end(connection, cluster, interruption, extent, at - since.timestamp())


def _end(
    connection: psycopg.Connection,
    cluster: Cluster,
    interruption: Interruption,
    extent: Extent,
    lasted: float,
) -> Event:
    """At the time of the beginning plus what has passed by our clock: the scheduler's may be unknown."""
    stop = round(extent.last * 1e6) + 1
    begun = last_events(connection, [Asked(cluster.pk, interruption.opens, 0, stop)]).get(cluster.pk)
    start = begun[0].time / 1e6 if begun else extent.last
    message = f"the cluster ended: {cluster.end_reason}" if cluster.ended else interruption.over
    return Event(start + lasted, interruption.closes, "", {"message": message})
