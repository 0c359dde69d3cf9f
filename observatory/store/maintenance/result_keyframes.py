"""Keyframes of the results in memory: kept after many changes, so that those of any time take few rows."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from heapq import nlargest
from typing import LiteralString, NamedTuple

import psycopg

from observatory.store.maintenance.tile_cache import store_tile
from observatory.store.queries.extents import Extent
from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.clocks import TOLERANCE
from observatory.wire.records import TASK_STATES, Action, Status

LAYER = "results"
"""the keyframes' layer in the table of tiles: one is the state at the end of its tile"""
LEVEL = 16
SHIFT = LEVEL + 9
"""tiles are 2^SHIFT microseconds long"""
MANY_CHANGES = 50_000
"""after which a keyframe is made"""
MOST_RESULTS = 50_000
"""that a keyframe names: those of known size, the largest, first"""

ResultId = tuple[int, str]
"""group and the rest of the key"""


class Result(NamedTuple):
    """A task's result in memory."""

    worker: int | None
    """id of the worker that made it; None: unknown"""
    since: int
    """microseconds"""
    nbytes: int | None
    """None: unknown, because its computation wasn't recorded"""


@dataclass(slots=True)
class Results:
    """The results in memory at a time."""

    named: dict[ResultId, Result] = field(default_factory=dict)
    unnamed: int = 0
    """number of others: the smallest ones of a keyframe"""


MEMORY = TASK_STATES.index("memory")
_CHANGED: LiteralString = (
    "cluster_id = %(cluster)s AND time > %(after)s AND time <= %(at)s"
    " AND (start = %(memory)s) <> (finish = %(memory)s)"
)
_CHANGES: LiteralString = f"""
    WITH change AS MATERIALIZED (
        SELECT group_id, key_rest, max(time) FILTER (WHERE finish = %(memory)s) AS entered,
            max(time) FILTER (WHERE start = %(memory)s) AS left_at,
            count(*) FILTER (WHERE finish = %(memory)s) - count(*) FILTER (WHERE start = %(memory)s) AS net,
            max(worker_id) FILTER (WHERE finish = %(memory)s) AS worker_id
        FROM transition WHERE {_CHANGED} GROUP BY group_id, key_rest
    ), made AS MATERIALIZED (
        SELECT DISTINCT ON (group_id, key_rest) group_id, key_rest, nbytes, lane.worker_id
        FROM span JOIN lane ON lane.id = lane_id
        WHERE span.cluster_id = %(cluster)s AND stop > %(after)s - %(tolerance)s * interval '1 s'
            AND stop <= %(at)s + %(tolerance)s * interval '1 s'
            AND action = ANY(%(computing)s) AND status = %(ok)s
        ORDER BY group_id, key_rest, stop > %(at)s, stop DESC
    )
    SELECT change.group_id, change.key_rest, net,
        CASE WHEN left_at IS NULL OR entered > left_at THEN entered END AS since,
        coalesce(made.worker_id, change.worker_id) AS worker, nbytes
    FROM change LEFT JOIN made ON made.group_id = change.group_id AND made.key_rest = change.key_rest"""


def results_at(connection: psycopg.Connection, cluster: int, at: int) -> Results:
    """Return the results in memory at `at` (microseconds), from the keyframe before it and what changed."""
    after, results = _last_keyframe(connection, cluster, at)
    with connection.transaction():
        # estimates of how many rows a stretch of time has are far too low, and loops of loops take minutes
        connection.execute("SET LOCAL enable_nestloop = off")
        changes = connection.execute(_CHANGES, _parameters(cluster, after, at)).fetchall()
    for group, rest, net, since, worker, nbytes in changes:
        known = results.named.pop((group, rest), None)
        was_held = (since is not None) - net == 1
        if was_held and known is None:
            results.unnamed -= 1
        if since is not None:
            size = nbytes if nbytes is not None and nbytes >= 0 else None
            results.named[group, rest] = Result(worker, to_microseconds(since), size)
    results.unnamed = max(results.unnamed, 0)
    return results


def make_result_keyframes(connection: psycopg.Connection, extent: Extent, until: int) -> int:
    """Make the keyframes that are missing until `until` (µs), which is settled; returns their number."""
    cluster = extent.cluster
    after, _ = _last_keyframe(connection, cluster, until, is_read=False)
    counts = connection.execute(
        f"""SELECT (extract(epoch FROM time) * 1000000)::bigint >> {SHIFT} AS tile, count(*)
            FROM transition WHERE {_CHANGED} GROUP BY tile ORDER BY tile""",
        _parameters(cluster, after, until),
    ).fetchall()
    made = changes = 0
    for tile, count in counts:
        changes += count
        stop = (tile + 1) << SHIFT
        if changes < MANY_CHANGES or stop > until:
            continue
        results = results_at(connection, cluster, stop)
        store_tile(connection, cluster, LAYER, LEVEL, tile, extent.version, _packed(results))
        changes = 0
        made += 1
    return made


def drop_result_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drop the keyframes that a late transition at `since` (seconds) invalidates."""
    connection.execute(
        "DELETE FROM tile WHERE cluster_id = %s AND layer = %s AND (index + 1) << (level + 9) > %s",
        [cluster, LAYER, int(since * 1e6) - 1],
    )


def _last_keyframe(
    connection: psycopg.Connection, cluster: int, until: int, is_read: bool = True
) -> tuple[int, Results]:
    """Return the time (microseconds) of the last keyframe until then, and its results; 0 without any."""
    row = connection.execute(
        f"""SELECT index, {"body" if is_read else "''::bytea"} FROM tile
            WHERE cluster_id = %s AND layer = %s AND level = %s AND index < %s ORDER BY index DESC LIMIT 1""",
        [cluster, LAYER, LEVEL, until >> SHIFT],
    ).fetchone()
    if row is None:
        return 0, Results()
    index, body = row
    return (index + 1) << SHIFT, _unpacked(bytes(body)) if is_read else Results()


def _packed(results: Results) -> bytes:
    def size(item: tuple[ResultId, Result]) -> int:
        return -1 if item[1].nbytes is None else item[1].nbytes

    kept = nlargest(MOST_RESULTS, results.named.items(), key=size)
    document = {
        "named": [[*id, *result] for id, result in kept],
        "unnamed": results.unnamed + len(results.named) - len(kept),
    }
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 4, mtime=0)


def _unpacked(body: bytes) -> Results:
    document = json.loads(gzip.decompress(body))
    named = {(group, rest): Result(*result) for group, rest, *result in document["named"]}
    return Results(named, document["unnamed"])


def _parameters(cluster: int, after: int, at: int) -> dict[str, object]:
    return {
        "cluster": cluster,
        "after": from_microseconds(after),
        "at": from_microseconds(at),
        "memory": MEMORY,
        "computing": [int(Action.COMPUTE), int(Action.LONG_RUNNING)],
        "ok": int(Status.OK),
        "tolerance": TOLERANCE,
    }
