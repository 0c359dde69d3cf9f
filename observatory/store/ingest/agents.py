"""Agents: the last batch that was stored of each, and its precedence over scraped records.

From an agent's first batch on, what it reports is left out of scraped batches
(`ValidatedBatch.without_agents_records`). What was scraped since the agent started, before its first batch
arrived, is deleted with that batch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from observatory.store.archive import presence
from observatory.store.engines import Engine
from observatory.store.ingest.extent_update import lock
from observatory.store.maintenance.keyframes import drop_keyframes
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import FROM_COLLECTOR
from observatory.wire.head import Head
from observatory.wire.records import Action

LONGEST_SPAN = timedelta(days=7)
"""the most by which a span that ended after the agent's start may have started before it"""


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


def registration(cluster: int, head: Head, newest: float, dropped: int) -> tuple[str, dict[str, Any]]:
    """The statement that registers a batch. `newest`: the time of its newest record; `dropped`: the number
    of records that it reports as dropped."""
    return (
        """INSERT INTO agent
               (id, cluster_id, sequence, since, last, committed, dropped, status, is_joint)
           SELECT %(id)s, %(cluster)s, %(sequence)s, to_timestamp(%(since)s), to_timestamp(%(last)s),
                  to_timestamp(%(committed)s), %(dropped)s, %(status)s,
                  EXISTS (SELECT FROM extent WHERE cluster_id = %(cluster)s AND sequence > 0)
                  AND NOT EXISTS (SELECT FROM agent WHERE cluster_id = %(cluster)s)
           ON CONFLICT (id) DO UPDATE SET sequence = EXCLUDED.sequence, heard = now(),
               last = greatest(agent.last, EXCLUDED.last),
               committed = coalesce(EXCLUDED.committed, agent.committed),
               dropped = agent.dropped + EXCLUDED.dropped, status = EXCLUDED.status
           WHERE agent.sequence < EXCLUDED.sequence AND agent.cluster_id = EXCLUDED.cluster_id
           RETURNING xmax = 0, is_joint""",
        {
            "id": head.agent,
            "cluster": cluster,
            "sequence": head.sequence,
            "since": head.since,
            "last": max(newest, head.since),
            "committed": head.committed or None,
            "dropped": dropped,
            "status": Jsonb(asdict(head.status)),
        },
    )


def registered(cursor: psycopg.Cursor, cluster: int, head: Head) -> Registered:
    """The result of a registration. Raises AgentRefused."""
    row = cursor.fetchone()
    if row is not None:
        result = Registered(False, *row)
        if result.is_first:
            _require_few(cursor, cluster)
        return result
    found = cursor.execute("SELECT cluster_id FROM agent WHERE id = %s", [head.agent]).fetchone()
    if found is not None and found[0] != cluster:
        raise AgentRefused("this agent reported of another cluster")
    return Registered(True)


def _require_few(cursor: psycopg.Cursor, cluster: int) -> None:
    """Raises AgentRefused."""
    query = "SELECT count(*) FROM agent WHERE cluster_id = %s"
    (count,) = cursor.execute(query, [cluster]).fetchone() or (0,)
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
