"""Reads the largest transfers and the P2P shuffles of a window. Only agents report them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.sums.transfer_sums import LIFETIMES
from observatory.store.queries.timeline import window_parameters
from observatory.store.times import from_microseconds
from observatory.wire.records import Action

LONGEST_SHUFFLE = timedelta(days=1)
SHUFFLED = 2
"""the direction of what a P2P shuffle sent, whose one key is the shuffle's id"""
STEPS = 39
"""of a shuffle's progress, of each of which the last sample is given, and the last of all"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer as its receiver logged it; times in seconds."""

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


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """The task that its worker fetched data for."""

    lane: int
    key: str
    prefix: int


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
    progress: list[list[float]]
    """time and bytes of some of its samples"""


def largest_transfers(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, limit: int
) -> list[Transfer]:
    """Return the largest transfers that start in [start, stop) (µs), the largest first."""
    query: LiteralString = f"""
        WITH lifetime AS MATERIALIZED ({LIFETIMES}),
        largest AS MATERIALIZED (
            SELECT start, stop, worker_id, peer, nbytes, count, keys FROM transfer
            WHERE cluster_id = %(cluster)s AND direction = 0 AND start >= %(start)s AND start < %(stop)s
            ORDER BY nbytes DESC, start LIMIT %(limit)s)
        SELECT lifetime.id AS sender, worker_id AS receiver,
            extract(epoch FROM largest.start)::float8 AS start,
            extract(epoch FROM largest.stop)::float8 AS stop, nbytes, count, keys
        FROM largest
        LEFT JOIN lifetime ON address = peer AND largest.start >= started AND largest.start < until
        ORDER BY nbytes DESC, largest.start"""
    with connection.cursor(row_factory=class_row(Transfer)) as cursor:
        return cursor.execute(query, {**window_parameters(cluster, start, stop), "limit": limit}).fetchall()


def waiting_tasks(
    connection: psycopg.Connection, cluster: int, transfers: Sequence[Transfer]
) -> list[WaitingTask | None]:
    """Return the task that waited for each transfer; None where its span isn't recorded."""
    # Dask gives a span and the entry in the log of transfers the same times
    query: LiteralString = f"""
        SELECT lane_id, key_rest, task_group.name, task_group.prefix_id
        FROM unnest(%(receivers)s::int[], %(starts)s::float8[], %(stops)s::float8[])
            WITH ORDINALITY AS moved (receiver, start, stop, place)
        LEFT JOIN LATERAL (
            SELECT lane_id, key_rest, group_id FROM span JOIN lane ON lane.id = lane_id
            WHERE span.cluster_id = %(cluster)s AND action = {int(Action.TRANSFER)}
                AND lane.worker_id = moved.receiver
                AND span.start BETWEEN to_timestamp(moved.start - 0.001) AND to_timestamp(moved.start + 0.001)
                AND span.stop BETWEEN to_timestamp(moved.stop - 0.001) AND to_timestamp(moved.stop + 0.001)
            LIMIT 1) AS waiting ON true
        LEFT JOIN task_group ON task_group.id = group_id
        ORDER BY place"""
    parameters = {
        "cluster": cluster,
        "receivers": [one.receiver for one in transfers],
        "starts": [one.start for one in transfers],
        "stops": [one.stop for one in transfers],
    }
    return [
        None if lane is None else WaitingTask(lane, decode_key(rest, group), prefix)
        for lane, rest, group, prefix in connection.execute(query, parameters)
    ]


def shuffle_amounts(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[ShuffleAmount]:
    """Return what each P2P shuffle had moved by [start, stop) (µs), in order of time."""
    query: LiteralString = """
        WITH found AS MATERIALIZED (
            SELECT shuffle, medium, what, nbytes, extract(epoch FROM time)::float8 AS time FROM shuffle
            WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s),
        lasting AS (SELECT shuffle, min(time) AS first, max(time) AS last FROM found GROUP BY shuffle),
        newest AS (
            SELECT DISTINCT ON (shuffle, medium, what, step) shuffle, medium, what, time, nbytes, first, last,
                floor((time - first) / nullif(last - first, 0) * %(steps)s) AS step
            FROM found JOIN lasting USING (shuffle) ORDER BY shuffle, medium, what, step, time DESC)
        SELECT shuffle, medium, what, (array_agg(nbytes ORDER BY time DESC))[1] AS nbytes,
            min(first) AS first, max(last) AS last,
            array_agg(ARRAY[time, nbytes::float8] ORDER BY time) AS progress
        FROM newest
        GROUP BY shuffle, medium, what ORDER BY first, shuffle, medium, what"""
    with connection.cursor(row_factory=class_row(ShuffleAmount)) as cursor:
        return cursor.execute(query, {**window_parameters(cluster, start, stop), "steps": STEPS}).fetchall()


def shuffle_exchanges(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> list[ShuffleAmount]:
    """Return what workers sent each other of each P2P shuffle in [start, stop) (µs), in order of time.

    Workers report it once a second, and so of shuffles that are over before the first heartbeat.
    """
    query: LiteralString = """
        WITH sent AS MATERIALIZED (
            SELECT (SELECT min(key) FROM jsonb_object_keys(keys) AS key) AS shuffle, nbytes,
                extract(epoch FROM start)::float8 AS start, extract(epoch FROM stop)::float8 AS stop
            FROM transfer
            WHERE cluster_id = %(cluster)s AND start >= %(start)s AND start < %(stop)s
                AND direction = %(shuffled)s AND jsonb_typeof(keys) = 'object'),
        lasting AS (SELECT shuffle, min(start) AS first, max(stop) AS last FROM sent GROUP BY shuffle),
        stepped AS (
            SELECT shuffle, first, last, max(stop) AS time, sum(nbytes) AS nbytes
            FROM sent JOIN lasting USING (shuffle)
            GROUP BY shuffle, first, last, floor((stop - first) / nullif(last - first, 0) * %(steps)s)),
        added AS (SELECT *, sum(nbytes) OVER (PARTITION BY shuffle ORDER BY time) AS total FROM stepped)
        SELECT shuffle, 'comm' AS medium, 'exchanged' AS what, sum(nbytes)::bigint AS nbytes, first, last,
            array_agg(ARRAY[time, total::float8] ORDER BY time) AS progress
        FROM added GROUP BY shuffle, first, last ORDER BY first, shuffle"""
    parameters = {**window_parameters(cluster, start, stop), "steps": STEPS, "shuffled": SHUFFLED}
    with connection.cursor(row_factory=class_row(ShuffleAmount)) as cursor:
        return cursor.execute(query, parameters).fetchall()


def shuffle_names(
    connection: psycopg.Connection, cluster: int, stop: int, shuffles: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return the name of each shuffle that began before `stop` (µs), and the line that submitted it.

    Both are "" where they aren't known.
    """
    rows = connection.execute(
        """SELECT detail->>'shuffle', coalesce(detail->>'name', ''), coalesce(detail->>'code', '')
           FROM event WHERE cluster_id = %(cluster)s AND kind = 'shuffle'
             AND time >= %(stop)s - %(longest)s AND time < %(stop)s
             AND detail->>'shuffle' = ANY(%(shuffles)s) AND detail->>'state' = 'began'
           ORDER BY time""",
        {
            "cluster": cluster,
            "stop": from_microseconds(stop),
            "longest": LONGEST_SHUFFLE,
            "shuffles": list(shuffles),
        },
    )
    return {shuffle: (name, code) for shuffle, name, code in rows}
