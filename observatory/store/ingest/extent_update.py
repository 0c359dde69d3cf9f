"""Updates the extent of a cluster for a batch, and deletes the cached tiles that late records change."""

from __future__ import annotations

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
    WITH before AS (SELECT *, xmin::text AS written_by FROM extent WHERE cluster_id = %(cluster)s FOR UPDATE)
    UPDATE extent SET
        first = CASE WHEN before.first = 'epoch' THEN coalesce(to_timestamp(%(first)s), 'epoch')
                     ELSE least(before.first, to_timestamp(%(first)s)) END,
        last = greatest(before.last, to_timestamp(%(last)s)),
        committed = greatest(before.committed, to_timestamp(%(committed)s)),
        version = before.version
            + coalesce(to_timestamp(%(first)s) < before.committed - interval '{SETTLING} s', false)::int,
        sequence = before.sequence + 1,
        spans = before.spans + %(spans)s,
        tasks = before.tasks + %(tasks)s,
        counted = greatest(before.counted, %(counted)s),
        errors = before.errors + %(errors)s
    FROM before WHERE extent.cluster_id = before.cluster_id
    RETURNING {EXTENT_COLUMNS},
        extract(epoch FROM before.committed)::float8, before.version, before.written_by,
        extent.xmin::text, pg_current_xact_id()::text"""


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


def statement(batch: ValidatedBatch) -> tuple[str, dict[str, Any]]:
    """The statement that adds the batch to its cluster's extent, but for the workers: see `add_workers`."""
    times = _times(batch)
    spans = batch.records.get("span")
    return UPDATE, {
        "cluster": batch.cluster,
        "first": float(min(time.min() for time in times)) if times else None,
        "last": float(max(time.max() for time in times)) if times else None,
        "committed": batch.committed,
        "spans": batch.count("span"),
        "tasks": int(np.count_nonzero(spans.numbers("action") == int(Action.COMPUTE))) if spans else 0,
        "counted": _counted(batch),
        "errors": batch.errors,
    }


def update_extent(cursor: psycopg.Cursor, batch: ValidatedBatch) -> ExtentUpdate:
    """The result of the statement, which `cursor` has executed. Makes the extent if there is none."""
    row = cursor.fetchone()
    if row is None:
        insert = "INSERT INTO extent (cluster_id) VALUES (%s) ON CONFLICT DO NOTHING"
        cursor.execute(insert, [batch.cluster])
        row = cursor.execute(*statement(batch)).fetchone()
        assert row is not None
    *columns, committed_before, version_before, written_by_before, written_by, transaction = row
    extent = Extent.of(columns)
    closed = committed_before - SETTLING if extent.version != version_before else None
    return ExtentUpdate(extent, closed, committed_before, written_by_before, written_by, transaction)


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
