"""Agents: which batch of theirs was stored last, and that one of them rules its cluster.

From an agent's first batch on, what it tells is left out of what is scraped (`Accepted.by_stock`); what was
scraped of the time that it tells of itself, before its first batch came, is deleted with that batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import psycopg

from observatory.store.engines import Engine
from observatory.store.maintenance.keyframes import drop_keyframes
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import FROM_COLLECTOR
from observatory.wire.head import Head
from observatory.wire.records import Action

LONGEST_SPAN = timedelta(days=7)
"""how much earlier a span may have begun that ended after an agent came"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of an agent's batch, before its records are looked at."""

    already: bool
    """it was stored before"""
    is_first: bool = False
    """of this agent"""
    is_joint: bool = False
    """records of the same cluster were scraped before the agent came"""


def arrive(connection: psycopg.Connection, cluster: int, head: Head, newest: float) -> Arrival:
    """Takes the batch's number, once; `newest` is the time of its newest record.

    Raises ValueError when the agent reported of another cluster before.
    """
    row = connection.execute(
        """INSERT INTO agent (id, cluster_id, sequence, since, last, is_joint)
           SELECT %(id)s, %(cluster)s, %(sequence)s, to_timestamp(%(since)s), to_timestamp(%(last)s),
                  EXISTS (SELECT FROM extent WHERE cluster_id = %(cluster)s AND sequence > 0)
                  AND NOT EXISTS (SELECT FROM agent WHERE cluster_id = %(cluster)s)
           ON CONFLICT (id) DO UPDATE SET sequence = EXCLUDED.sequence, heard = now(),
               last = greatest(agent.last, EXCLUDED.last)
           WHERE agent.sequence < EXCLUDED.sequence AND agent.cluster_id = EXCLUDED.cluster_id
           RETURNING xmax = 0, is_joint""",
        {
            "id": head.agent,
            "cluster": cluster,
            "sequence": head.sequence,
            "since": head.since,
            "last": max(newest, head.since),
        },
    ).fetchone()
    if row is not None:
        return Arrival(False, *row)
    found = connection.execute("SELECT cluster_id FROM agent WHERE id = %s", [head.agent]).fetchone()
    if found is not None and found[0] != cluster:
        raise ValueError("this agent reported of another cluster")
    return Arrival(True)


def rules(connection: psycopg.Connection, cluster: int) -> bool:
    """Whether an agent reports of the cluster; locks the extent until the transaction ends."""
    connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR UPDATE", [cluster])
    return reported(connection, cluster)


def reported(connection: psycopg.Connection, cluster: int) -> bool:
    """Whether an agent ever reported of the cluster."""
    found = connection.execute("SELECT FROM agent WHERE cluster_id = %s LIMIT 1", [cluster])
    return found.fetchone() is not None


def take_over(connection: psycopg.Connection, engine: Engine, cluster: int, since: float) -> None:
    """Deletes what was scraped of the time from `since` on and comes from the agent now; locks the extent."""
    connection.execute("SELECT FROM extent WHERE cluster_id = %s FOR UPDATE", [cluster])
    engine.allow_deletes(connection)
    moment = from_seconds(since)
    parameters = {
        "cluster": cluster,
        "since": moment,
        "earliest": moment - LONGEST_SPAN,
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


def silent(connection: psycopg.Connection, seconds: float) -> dict[int, float]:
    """The time of the newest record of each cluster whose agents weren't heard for so long."""
    rows = connection.execute(
        """SELECT cluster_id, extract(epoch FROM max(last))::float8 FROM agent
           GROUP BY cluster_id HAVING max(heard) < now() - make_interval(secs => %s)""",
        [seconds],
    )
    return dict(rows.fetchall())
