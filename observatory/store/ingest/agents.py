"""Agents: the last batch that was stored of each, and its precedence over scraped records.

From an agent's first batch on, what it reports is left out of scraped batches
(`ValidatedBatch.without_agents_records`). What was scraped since the agent started, before its first batch
arrived, is deleted with that batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from observatory.store.archive import presence
from observatory.store.engines import Engine
from observatory.store.ingest.batches.validated import ValidatedBatch
from observatory.store.ingest.extent_update import lock, newest
from observatory.store.maintenance.keyframes import drop_keyframes
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import FROM_COLLECTOR
from observatory.wire.head import Head
from observatory.wire.records import Action

LONGEST_SPAN = timedelta(days=7)
"""the most by which a span that ended after the agent's start may have started before it"""


REGISTER = """
    WITH batch AS (
        SELECT * FROM unnest(%(id)s::uuid[], %(cluster)s::int[], %(sequence)s::bigint[], %(since)s::float8[],
                             %(last)s::float8[], %(committed)s::float8[], %(dropped)s::bigint[],
                             %(status)s::jsonb[])
            AS batch(id, cluster, sequence, since, last, committed, dropped, status)
    )
    INSERT INTO agent (id, cluster_id, sequence, since, last, committed, dropped, status, is_joint)
    SELECT id, cluster, sequence, to_timestamp(since), to_timestamp(last), to_timestamp(committed), dropped,
           status,
           EXISTS (SELECT FROM extent WHERE cluster_id = cluster AND extent.sequence > 0)
           AND NOT EXISTS (SELECT FROM agent WHERE cluster_id = cluster)
    FROM batch ORDER BY cluster
    ON CONFLICT (id) DO UPDATE SET sequence = EXCLUDED.sequence, heard = now(),
        last = greatest(agent.last, EXCLUDED.last),
        committed = coalesce(EXCLUDED.committed, agent.committed),
        dropped = agent.dropped + EXCLUDED.dropped, status = EXCLUDED.status
    WHERE agent.sequence < EXCLUDED.sequence AND agent.cluster_id = EXCLUDED.cluster_id
    RETURNING cluster_id, xmax = 0, is_joint"""
PARAMETERS = ("id", "cluster", "sequence", "since", "last", "committed", "dropped", "status")
MOST_AGENTS = 1_000
"""of a cluster: a scheduler has one, and another after each installation in a running cluster"""


class AgentRefused(Exception):
    """The agent reported of another cluster before, or its cluster has too many."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The result of registering an agent's batch."""

    already: bool
    """it was stored before"""
    is_first: bool = False
    """of this agent"""
    is_joint: bool = False
    """records of the same cluster were scraped before"""


def register(connection: psycopg.Connection, batches: Sequence[ValidatedBatch]) -> dict[int, Registered]:
    """Registers batches of agents, which are of different clusters; the result by cluster.

    The order of locks is that of the clusters. Raises AgentRefused.
    """
    parameters: dict[str, list[Any]] = {name: [] for name in PARAMETERS}
    for batch in batches:
        assert batch.head is not None
        for name, value in _parameters(batch, batch.head).items():
            parameters[name].append(value)
    rows = connection.execute(REGISTER, parameters).fetchall()
    found = {cluster: Registered(False, is_first, is_joint) for cluster, is_first, is_joint in rows}
    if begun := [cluster for cluster, one in found.items() if one.is_first]:
        _require_few(connection, begun)
    others = {
        UUID(batch.head.agent): batch.cluster
        for batch in batches
        if batch.head is not None and batch.cluster not in found
    }
    if others:
        _require_own(connection, others)
    return found | {cluster: Registered(True) for cluster in others.values()}


def _parameters(batch: ValidatedBatch, head: Head) -> dict[str, Any]:
    return {
        "id": head.agent,
        "cluster": batch.cluster,
        "sequence": head.sequence,
        "since": head.since,
        "last": max(newest(batch), head.since),
        "committed": head.committed or None,
        "dropped": batch.dropped,
        "status": Jsonb(asdict(head.status)),
    }


def _require_own(connection: psycopg.Connection, clusters: Mapping[UUID, int]) -> None:
    """Raises AgentRefused for an agent, of which the cluster is given, that is another cluster's."""
    query = "SELECT id, cluster_id FROM agent WHERE id = ANY(%s)"
    for agent, cluster in connection.execute(query, [list(clusters)]):
        if cluster != clusters[agent]:
            raise AgentRefused("this agent reported of another cluster")


def _require_few(connection: psycopg.Connection, clusters: Sequence[int]) -> None:
    """Raises AgentRefused."""
    query = "SELECT count(*) FROM agent WHERE cluster_id = ANY(%s) GROUP BY cluster_id"
    for (count,) in connection.execute(query, [list(clusters)]):
        if count > MOST_AGENTS:
            raise AgentRefused(f"the cluster has {MOST_AGENTS} agents, and may have no more")


def delete_scraped(connection: psycopg.Connection, engine: Engine, cluster: int, since: float) -> None:
    """Deletes what was scraped since `since` (seconds) and is now reported by the agent; locks the extent."""
    lock(connection, [cluster])
    if presence.removed_kinds(connection, cluster):
        # imports pyarrow, which hardly any writer needs
        from observatory.store.archive.restoring.bringing_back import bring_back_within

        bring_back_within(connection, cluster, ("span", "event", "sample"))
    engine.allow_deletes(connection)
    time = from_seconds(since)
    parameters = {
        "cluster": cluster,
        "since": time,
        "earliest": time - LONGEST_SPAN,
        "compute": int(Action.COMPUTE),
        "kept": list(FROM_COLLECTOR),
        "microseconds": int(since * 1e6),
    }
    connection.execute(
        """WITH spans AS (
               DELETE FROM span
               WHERE cluster_id = %(cluster)s AND start >= %(earliest)s AND stop >= %(since)s
               RETURNING action
           ), events AS (
               DELETE FROM event
               WHERE cluster_id = %(cluster)s AND time >= %(since)s AND kind <> ALL(%(kept)s)
               RETURNING kind, detail
           )
           UPDATE extent SET
               version = version + 1,
               spans = spans - (SELECT count(*) FROM spans),
               tasks = tasks - (SELECT count(*) FROM spans WHERE action = %(compute)s),
               errors = greatest(0, errors - (
                   SELECT coalesce(sum((detail->>'count')::bigint), 0)
                   FROM events WHERE kind = 'tasks-erred'))
           WHERE cluster_id = %(cluster)s""",
        parameters,
    )
    connection.execute(
        """DELETE FROM sample WHERE cluster_id = %(cluster)s AND time >= %(since)s AND series_id IN (
               SELECT id FROM series
               WHERE cluster_id = %(cluster)s AND starts_with(metric, 'observatory_'))""",
        parameters,
    )
    drop_keyframes(connection, cluster, since)
    connection.execute(
        """DELETE FROM tile
           WHERE cluster_id = %(cluster)s AND (index + 1) << (level + 9) > %(microseconds)s""",
        parameters,
    )
