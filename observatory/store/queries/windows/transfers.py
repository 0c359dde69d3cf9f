"""Reads the largest transfers, the steals and the P2P shuffles of a window. Only agents report them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.sums.transfer_sums import LIFETIMES
from observatory.store.times import from_microseconds
from observatory.wire.records import Action


@dataclass(frozen=True, slots=True)
class LargeTransfer:
    """A transfer with the task that waited for it; times in seconds."""

    sender: int | None
    receiver: int | None
    """ids of workers; None: unknown"""
    start: float
    stop: float
    nbytes: int
    count: int
    """number of keys"""
    keys: dict[str, Any]
    """bytes by key, of the first hundred keys"""
    lane: int | None
    waiting: str | None
    """key of the task that the worker fetched the data for; None: its span isn't recorded"""


@dataclass(frozen=True, slots=True)
class StealCount:
    """How many requests of one victim and thief had an outcome."""

    victim: int | None
    thief: int | None
    """ids of workers; None: unknown"""
    outcome: str
    count: int


@dataclass(frozen=True, slots=True)
class ShuffleAmount:
    """What a P2P shuffle had moved at its last sample in the window; times in seconds."""

    shuffle: str
    medium: str
    what: str
    nbytes: int
    first: float
    last: float
    """of the shuffle's samples in the window"""


def largest_transfers(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, limit: int
) -> list[LargeTransfer]:
    """Return the largest transfers that start in [start, stop) (µs), the largest first."""
    # Dask gives a span and the entry in the log of transfers the same times
    query: LiteralString = f"""
        WITH lifetime AS MATERIALIZED ({LIFETIMES}),
        largest AS MATERIALIZED (
            SELECT start, stop, worker_id, peer, nbytes, count, keys FROM transfer
            WHERE cluster_id = %(cluster)s AND direction = 0 AND start >= %(start)s AND start < %(stop)s
            ORDER BY nbytes DESC, start LIMIT %(limit)s)
        SELECT lifetime.id, worker_id, extract(epoch FROM largest.start)::float8,
            extract(epoch FROM largest.stop)::float8, nbytes, count, keys, lane_id, key_rest, task_group.name
        FROM largest
        LEFT JOIN lifetime ON address = peer AND largest.start >= started AND largest.start < until
        LEFT JOIN LATERAL (
            SELECT lane_id, key_rest, group_id FROM span JOIN lane ON lane.id = lane_id
            WHERE span.cluster_id = %(cluster)s AND action = {int(Action.TRANSFER)}
                AND lane.worker_id = largest.worker_id
                AND span.start BETWEEN largest.start - interval '1 ms' AND largest.start + interval '1 ms'
                AND span.stop BETWEEN largest.stop - interval '1 ms' AND largest.stop + interval '1 ms'
            LIMIT 1) AS waiting ON true
        LEFT JOIN task_group ON task_group.id = group_id
        ORDER BY nbytes DESC, largest.start"""
    rows = connection.execute(query, {**_window(cluster, start, stop), "limit": limit}).fetchall()
    return [
        LargeTransfer(*(*row[:8], None if row[8] is None else decode_key(row[8], row[9]))) for row in rows
    ]


def steal_counts(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[StealCount]:
    """Count the outcomes of work stealing in [start, stop) (µs), the most frequent first."""
    query: LiteralString = f"""
        WITH lifetime AS MATERIALIZED ({LIFETIMES})
        SELECT victims.id AS victim, thieves.id AS thief, outcome, count(*) AS count
        FROM steal
        LEFT JOIN lifetime AS victims ON victims.address = victim
            AND time >= victims.started AND time < victims.until
        LEFT JOIN lifetime AS thieves ON thieves.address = thief
            AND time >= thieves.started AND time < thieves.until
        WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s AND outcome <> 'request'
        GROUP BY 1, 2, 3 ORDER BY count DESC, 1, 2, 3"""
    with connection.cursor(row_factory=class_row(StealCount)) as cursor:
        return cursor.execute(query, _window(cluster, start, stop)).fetchall()


def shuffle_amounts(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[ShuffleAmount]:
    """Return what each P2P shuffle had moved by [start, stop) (µs), in order of time."""
    query: LiteralString = """
        SELECT shuffle, medium, what, (array_agg(nbytes ORDER BY time DESC))[1] AS nbytes,
            extract(epoch FROM min(time))::float8 AS first, extract(epoch FROM max(time))::float8 AS last
        FROM shuffle WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
        GROUP BY shuffle, medium, what ORDER BY first, shuffle, medium, what"""
    with connection.cursor(row_factory=class_row(ShuffleAmount)) as cursor:
        return cursor.execute(query, _window(cluster, start, stop)).fetchall()


def _window(cluster: int, start: int, stop: int) -> dict[str, Any]:
    return {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop)}
