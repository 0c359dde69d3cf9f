"""How a batch changes the extent of its cluster, and which cached tiles it makes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import psycopg

from observatory.store.ingest.validated import Accepted, Times
from observatory.store.maintenance.keyframes import drop_keyframes
from observatory.store.queries.extents import EXTENT_COLUMNS, Extent
from observatory.wire.layers import LAYERS
from observatory.wire.records import Action

SETTLING = 30.0
"""seconds before `committed` from which on the past is taken for closed (docs/architecture/replay.md)"""

# xmin is the transaction that wrote the extent last: another than ours, and another writer was there
GROW = f"""
    WITH before AS (SELECT *, xmin::text AS stamp FROM extent WHERE cluster_id = %(cluster)s FOR UPDATE)
    UPDATE extent SET
        first = CASE WHEN before.first = 'epoch' THEN coalesce(to_timestamp(%(first)s), 'epoch')
                     ELSE least(before.first, to_timestamp(%(first)s)) END,
        last = greatest(before.last, to_timestamp(%(last)s)),
        committed = greatest(before.committed, to_timestamp(%(committed)s)),
        version = before.version
            + coalesce(to_timestamp(%(first)s) < before.committed - %(settling)s::interval, false)::int,
        sequence = before.sequence + 1,
        spans = before.spans + %(spans)s,
        tasks = before.tasks + %(tasks)s,
        errors = before.errors + %(errors)s
    FROM before WHERE extent.cluster_id = before.cluster_id
    RETURNING {", ".join(f"extent.{column}" for column in EXTENT_COLUMNS.split(", "))},
        extract(epoch FROM before.committed)::float8, before.version, before.stamp,
        extent.xmin::text, pg_current_xact_id()::text"""


@dataclass(frozen=True, slots=True)
class Growth:
    """What became of the extent; it is locked until the transaction ends: one writer at a time."""

    extent: Extent
    late_before: float | None
    """seconds: some of the batch is older than this, where the past was closed; None: nothing is"""
    committed_before: float
    """seconds"""
    stamp_before: str
    """the transaction that wrote it before"""
    stamp: str
    transaction: str
    """what pg_xact_status knows ours by"""


def grow(connection: psycopg.Connection, accepted: Accepted) -> Growth:
    """Adds the batch to its cluster's extent, but for the workers: see `add_workers`."""
    times = [times for times in _times(accepted) if len(times)]
    parameters: dict[str, Any] = {
        "cluster": accepted.cluster,
        "first": float(min(time.min() for time in times)) if times else None,
        "last": float(max(time.max() for time in times)) if times else None,
        "committed": accepted.committed,
        "settling": timedelta(seconds=SETTLING),
        "spans": len(accepted.spans),
        "tasks": int(np.count_nonzero(accepted.spans.actions == Action.COMPUTE)),
        "errors": accepted.errors,
    }
    row = connection.execute(GROW, parameters).fetchone()
    if row is None:
        insert = "INSERT INTO extent (cluster_id) VALUES (%s) ON CONFLICT DO NOTHING"
        connection.execute(insert, [accepted.cluster])
        row = connection.execute(GROW, parameters).fetchone()
        assert row is not None
    *columns, committed_before, version_before, stamp_before, stamp, transaction = row
    extent = Extent.of(columns)
    closed = committed_before - SETTLING if extent.version != version_before else None
    return Growth(extent, closed, committed_before, stamp_before, stamp, transaction)


def add_workers(connection: psycopg.Connection, cluster: int, opened: int) -> Extent:
    """Counts lifetimes that the batch opened."""
    query = f"UPDATE extent SET workers = workers + %s WHERE cluster_id = %s RETURNING {EXTENT_COLUMNS}"
    return Extent.of(connection.execute(query, [opened, cluster]).fetchone() or ())


def drop_built(connection: psycopg.Connection, accepted: Accepted, closed: float) -> None:
    """Drops tiles and keyframes that records before `closed` (seconds) belong to."""
    if (accepted.spans.stops < closed).any():
        drop_keyframes(connection, accepted.cluster, float(accepted.spans.stops.min()))
    profiled = accepted.times_of("profile")
    for layers, starts, stops in (
        (["spans", "prefixes"], accepted.spans.starts, accepted.spans.stops),
        (list(LAYERS), accepted.samples.times, accepted.samples.times),
        (["events"], accepted.happened, accepted.happened),
        (["profile"], profiled, profiled),
    ):
        late = starts < closed
        if late.any():
            window = (int(starts[late].min() * 1e6) - 1, int(stops[late].max() * 1e6) + 1)
            connection.execute(
                """DELETE FROM tile WHERE cluster_id = %s AND split_part(layer, '.', 1) = ANY(%s)
                   AND (index + 1) << (level + 9) > %s AND index << (level + 9) <= %s""",
                [accepted.cluster, layers, *window],
            )


def newest(accepted: Accepted) -> float:
    """The time of the batch's newest record; 0: it has none."""
    return max((float(times.max()) for times in _times(accepted) if len(times)), default=0.0)


def _times(accepted: Accepted) -> tuple[Times, ...]:
    told = (accepted.times_of(kind) for kind in accepted.rows)
    return accepted.spans.starts, accepted.spans.stops, accepted.samples.times, accepted.happened, *told
