"""Updates the extents of clusters for batches, and deletes the cached tiles that late records change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg

from observatory.store.ingest.batches.record_columns import Times
from observatory.store.ingest.batches.validated import ValidatedBatch
from observatory.store.maintenance.keyframes import drop_keyframes
from observatory.store.maintenance.result_keyframes import drop_result_keyframes
from observatory.store.queries.extents import EXTENT_COLUMNS, SETTLING, Extent
from observatory.store.queries.sums.declared import sum_layers_of
from observatory.wire.layers import LAYERS
from observatory.wire.metrics import TASKS_COMPUTED
from observatory.wire.records import Action

# xmin is the transaction that wrote the extent last: it changes when there is another writer
UPDATE = f"""
    WITH batch AS (
        SELECT * FROM unnest(%(cluster)s::int[], %(first)s::float8[], %(last)s::float8[],
                             %(committed)s::float8[], %(spans)s::bigint[], %(tasks)s::bigint[],
                             %(counted)s::bigint[], %(errors)s::bigint[])
            AS batch(cluster, first, last, committed, spans, tasks, counted, errors)
    ), before AS (
        SELECT *, xmin::text AS written_by FROM extent WHERE cluster_id = ANY(%(cluster)s)
        ORDER BY cluster_id FOR UPDATE
    )
    UPDATE extent SET
        first = CASE WHEN before.first = 'epoch' THEN coalesce(to_timestamp(batch.first), 'epoch')
                     ELSE least(before.first, to_timestamp(batch.first)) END,
        last = greatest(before.last, to_timestamp(batch.last)),
        committed = greatest(before.committed, to_timestamp(batch.committed)),
        version = before.version
            + coalesce(to_timestamp(batch.first) < before.committed - interval '{SETTLING} s', false)::int,
        sequence = before.sequence + 1,
        spans = before.spans + batch.spans,
        tasks = before.tasks + batch.tasks,
        counted = greatest(before.counted, batch.counted),
        errors = before.errors + batch.errors
    FROM before JOIN batch ON batch.cluster = before.cluster_id
    WHERE extent.cluster_id = before.cluster_id
    RETURNING {EXTENT_COLUMNS},
        extract(epoch FROM before.committed)::float8, before.version, before.written_by,
        extent.xmin::text, pg_current_xact_id()::text"""
PARAMETERS = ("cluster", "first", "last", "committed", "spans", "tasks", "counted", "errors")
LOCK = "SELECT cluster_id, xmin::text FROM extent WHERE cluster_id = ANY(%s) ORDER BY cluster_id FOR UPDATE"
INSERT = "INSERT INTO extent (cluster_id) SELECT unnest(%s::int[]) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class ExtentUpdate:
    """The extent is locked until the transaction ends: a cluster has one writer at a time."""

    extent: Extent
    late_before: float | None
    """seconds: records before this changed the closed past; None: the batch has none"""
    committed_before: float
    """seconds"""
    written_by_before: str
    """the transaction that wrote the extent before"""
    written_by: str
    transaction: str
    """this transaction's id for pg_xact_status"""


def lock(connection: psycopg.Connection, clusters: Sequence[int]) -> dict[int, str]:
    """Locks the extents until the transaction ends, and makes those that are missing.

    Returns the transactions that wrote those that were there. The order of locks is that of the clusters, so
    that two writers don't wait for each other.
    """
    written_by: dict[int, str] = dict(connection.execute(LOCK, [list(clusters)]).fetchall())
    if missing := sorted(set(clusters) - written_by.keys()):
        connection.execute(INSERT, [missing])
    return written_by


def update_extents(
    connection: psycopg.Connection, batches: Sequence[ValidatedBatch]
) -> dict[int, ExtentUpdate]:
    """Adds batches of different clusters to their extents, but for the workers: see `add_workers`.

    Makes the extents that are missing. By cluster.
    """
    updated = _updated(connection, batches)
    if missing := [batch for batch in batches if batch.cluster not in updated]:
        connection.execute(INSERT, [[batch.cluster for batch in missing]])
        updated |= _updated(connection, missing)
    return updated


def update_extent(connection: psycopg.Connection, batch: ValidatedBatch) -> ExtentUpdate:
    """The same of one batch."""
    return update_extents(connection, [batch])[batch.cluster]


def _updated(connection: psycopg.Connection, batches: Sequence[ValidatedBatch]) -> dict[int, ExtentUpdate]:
    parameters: dict[str, list[Any]] = {name: [] for name in PARAMETERS}
    for batch in batches:
        for name, value in _parameters(batch).items():
            parameters[name].append(value)
    return dict(map(_update_of, connection.execute(UPDATE, parameters)))


def _update_of(row: Sequence[Any]) -> tuple[int, ExtentUpdate]:
    *columns, committed_before, version_before, written_by_before, written_by, transaction = row
    extent = Extent.of(columns)
    closed = committed_before - SETTLING if extent.version != version_before else None
    update = ExtentUpdate(extent, closed, committed_before, written_by_before, written_by, transaction)
    return extent.cluster, update


def _parameters(batch: ValidatedBatch) -> dict[str, Any]:
    times = _times(batch)
    spans = batch.records.get("span")
    return {
        "cluster": batch.cluster,
        "first": float(min(time.min() for time in times)) if times else None,
        "last": float(max(time.max() for time in times)) if times else None,
        "committed": batch.committed,
        "spans": batch.count("span"),
        "tasks": int(np.count_nonzero(spans.numbers("action") == int(Action.COMPUTE))) if spans else 0,
        "counted": _counted(batch),
        "errors": batch.errors,
    }


def add_workers(connection: psycopg.Connection, cluster: int, count: int) -> Extent:
    """Counts new lifetimes of workers."""
    query = f"UPDATE extent SET workers = workers + %s WHERE cluster_id = %s RETURNING {EXTENT_COLUMNS}"
    return Extent.of(connection.execute(query, [count, cluster]).fetchone() or ())


def delete_changed_tiles(connection: psycopg.Connection, batch: ValidatedBatch, closed: float) -> None:
    """Deletes the tiles and keyframes that records before `closed` (seconds) belong to."""
    ends = [times.min() for times in (batch.stops("span"), batch.times("transition")) if len(times)]
    if ends and min(ends) < closed:
        drop_keyframes(connection, batch.cluster, float(min(ends)))
    if (batch.times("transition") < closed).any():
        drop_result_keyframes(connection, batch.cluster, float(batch.times("transition").min()))
    for layers, kind in (
        (["spans", "prefixes", *sum_layers_of("span")], "span"),
        (list(LAYERS), "sample"),
        (["events"], "event"),
        (["profile"], "profile"),
        (sum_layers_of("transfer"), "transfer"),
        (sum_layers_of("log"), "log"),
        (sum_layers_of("error"), "error"),
        (sum_layers_of("transition"), "transition"),
    ):
        starts, stops = batch.times(kind), batch.stops(kind)
        late = starts < closed
        if late.any():
            window = (int(starts[late].min() * 1e6) - 1, int(stops[late].max() * 1e6) + 1)
            connection.execute(
                """DELETE FROM tile WHERE cluster_id = %s AND split_part(layer, '.', 1) = ANY(%s)
                   AND (index + 1) << (level + 9) > %s AND index << (level + 9) <= %s""",
                [batch.cluster, layers, *window],
            )


def _counted(batch: ValidatedBatch) -> int:
    """The scheduler's own count of computed tasks; 0: the batch has none."""
    if "sample" not in batch.records:
        return 0
    samples = batch.records["sample"]
    is_count = samples.coded("series").numbers(lambda series: series.metric == TASKS_COMPUTED, np.bool_)
    return min(max(int(samples.numbers("value")[is_count].max(initial=0)), 0), 2**62)


def newest(batch: ValidatedBatch) -> float:
    """The time of the batch's newest record; 0: it has none."""
    return max((float(times.max()) for times in _times(batch)), default=0.0)


def _times(batch: ValidatedBatch) -> list[Times]:
    found = [records.times for records in batch.records.values()]
    return [*found, batch.stops("span")] if "span" in batch.records else found
