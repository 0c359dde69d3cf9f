"""Reads how a task and its data moved between workers: transfers and steals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import StoredKeys
from observatory.store.queries.tasks.lineage import ClusterWindow
from observatory.wire.clocks import TOLERANCE
from observatory.wire.records import Action

NEARLY = timedelta(milliseconds=1)
"""between the times of a transfer and of its span"""


@dataclass(frozen=True, slots=True)
class TransferOfTask:
    """A transfer that a worker made for a task, with the span that shows it; times in seconds."""

    lane: int
    start: float
    stop: float
    peer: int | None
    """id of the worker that sent the data; None: unknown"""
    nbytes: int
    count: int
    """number of keys"""
    keys: dict[str, Any]
    """bytes by key, of the first hundred keys"""


@dataclass(frozen=True, slots=True)
class StealOfTask:
    """A steal that succeeded; time, cost and occupancies in seconds, None: unknown."""

    time: float
    victim: int | None
    """id of the worker that had the task"""
    thief: int | None
    """id of the worker that got it"""
    cost: float | None
    """of the move"""
    victim_occupancy: float | None
    thief_occupancy: float | None
    """work that waited on the workers"""


@dataclass(frozen=True, slots=True)
class StolenTask:
    """A task that was stolen; time in seconds."""

    key: str
    prefix: int
    time: float
    victim: int | None
    thief: int | None
    """ids of the worker that had the task and of the one that got it; None: unknown"""
    total: int
    """number of all steals of the window"""


def times_of_transfers(
    connection: psycopg.Connection, window: ClusterWindow, keys: StoredKeys
) -> tuple[datetime, datetime] | None:
    """The starts of the first and the last of the task's transfer spans; None without any."""
    row = connection.execute(
        f"""SELECT min(start), max(start) FROM span
            WHERE cluster_id = %(cluster)s AND start < %(stop)s AND span.stop > %(start)s
                AND action = %(transfer)s AND {keys.condition()}""",
        {**window.parameters(), **keys.parameters, "transfer": int(Action.TRANSFER)},
    ).fetchone()
    return row if row and row[0] is not None else None


def transfers_of_task(
    connection: psycopg.Connection, window: ClusterWindow, keys: StoredKeys, limit: int
) -> list[TransferOfTask]:
    """Return the transfers of the task's transfer spans, sorted by start. Only agents report them."""
    # Dask gives a span and the entry in the log of transfers the same times
    query: LiteralString = f"""
        WITH moved AS MATERIALIZED (
            SELECT lane_id, worker_id, span.start, span.stop FROM span JOIN lane ON lane.id = lane_id
            WHERE span.cluster_id = %(cluster)s AND span.start < %(stop)s AND span.stop > %(start)s
                AND action = %(transfer)s AND {keys.condition()}
            ORDER BY span.start LIMIT %(limit)s)
        SELECT moved.lane_id AS lane, extract(epoch FROM moved.start)::float8 AS start,
            extract(epoch FROM moved.stop)::float8 AS stop, {_worker_at("found.peer", "found.stop")} AS peer,
            nbytes, count, keys
        FROM moved CROSS JOIN LATERAL (
            SELECT peer, stop, nbytes, count, keys FROM transfer
            WHERE cluster_id = %(cluster)s AND worker_id = moved.worker_id AND direction = 0
                AND start BETWEEN moved.start - %(nearly)s AND moved.start + %(nearly)s
                AND stop BETWEEN moved.stop - %(nearly)s AND moved.stop + %(nearly)s
            ORDER BY abs(extract(epoch FROM start - moved.start)) + abs(extract(epoch FROM stop - moved.stop))
            LIMIT 1) AS found
        ORDER BY moved.start, moved.stop, moved.lane_id"""
    with connection.cursor(row_factory=class_row(TransferOfTask)) as cursor:
        return cursor.execute(query, _parameters(window, keys, limit)).fetchall()


def steals_of_task(
    connection: psycopg.Connection, window: ClusterWindow, keys: StoredKeys, limit: int
) -> list[StealOfTask]:
    """Return the steals of the task, sorted by time. Only agents report them."""
    query: LiteralString = f"""
        SELECT extract(epoch FROM steal.time)::float8 AS time,
            {_worker_at("steal.victim", "steal.time")} AS victim,
            {_worker_at("steal.thief", "steal.time")} AS thief,
            request.cost, request.victim_occupancy, request.thief_occupancy
        FROM steal LEFT JOIN LATERAL (
            SELECT cost, victim_occupancy, thief_occupancy FROM steal AS asked
            WHERE cluster_id = %(cluster)s AND outcome = 'request' AND group_id = steal.group_id
                AND key_rest = steal.key_rest AND victim = steal.victim AND thief = steal.thief
                AND asked.time BETWEEN steal.time - interval '1 min' AND steal.time
            ORDER BY asked.time DESC LIMIT 1) AS request ON true
        WHERE steal.cluster_id = %(cluster)s AND outcome = 'confirm'
            AND steal.time >= %(start)s AND steal.time < %(stop)s AND {keys.condition()}
        ORDER BY steal.time LIMIT %(limit)s"""
    with connection.cursor(row_factory=class_row(StealOfTask)) as cursor:
        return cursor.execute(query, _parameters(window, keys, limit)).fetchall()


def stolen_tasks(connection: psycopg.Connection, window: ClusterWindow, limit: int) -> list[StolenTask]:
    """Return the first steals of the window that succeeded, sorted by time."""
    query: LiteralString = f"""
        WITH found AS MATERIALIZED (
            SELECT time, group_id, key_rest, victim, thief, count(*) OVER () AS total FROM steal
            WHERE cluster_id = %(cluster)s AND outcome = 'confirm' AND time >= %(start)s AND time < %(stop)s
            ORDER BY time LIMIT %(limit)s)
        SELECT replace(key_rest, U&'\\0001', task_group.name) AS key, prefix_id AS prefix,
            extract(epoch FROM time)::float8 AS time, {_worker_at("found.victim", "found.time")} AS victim,
            {_worker_at("found.thief", "found.time")} AS thief, total
        FROM found JOIN task_group ON task_group.id = group_id ORDER BY found.time, key"""
    parameters = {**window.parameters(), "tolerance": TOLERANCE, "limit": limit}
    with connection.cursor(row_factory=class_row(StolenTask)) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _worker_at(address: LiteralString, time: LiteralString) -> LiteralString:
    """SQL of the id of the worker that was at an address at a time."""
    return f"""(
        SELECT id FROM worker WHERE cluster_id = %(cluster)s AND address = {address}
            AND started <= {time} + %(tolerance)s * interval '1 s'
        ORDER BY started DESC LIMIT 1)"""


def _parameters(window: ClusterWindow, keys: StoredKeys, limit: int) -> dict[str, Any]:
    return {
        **window.parameters(),
        **keys.parameters,
        "transfer": int(Action.TRANSFER),
        "tolerance": TOLERANCE,
        "nearly": NEARLY,
        "limit": limit,
    }
