"""Notes that a batch had late records, as part of the writer's transaction."""

from __future__ import annotations

import time

import numpy as np
import psycopg

from observatory.store.ingest.batches.validated import ValidatedBatch
from observatory.store.late_records import COUNTING, EXTENDED, LATENESS
from observatory.store.times import from_seconds

ALERTED_KINDS = ("sample", "event", "log", "error")
"""the kinds of records that alerts are about"""
COUNTED_KINDS = ("span", "error", "transition", "transfer", "computation", "sample", "event")
"""the kinds of records that figures of runs are counted from"""


def note_late(connection: psycopg.Connection, batch: ValidatedBatch, committed_before: float) -> None:
    """Part of the writer's transaction; for a batch without late records it costs a comparison."""
    settled = committed_before - LATENESS
    times = [batch.times(kind) for kind in ALERTED_KINDS]
    earliest = min((float(some.min()) for some in times if len(some)), default=settled)
    if earliest < settled:
        connection.execute(
            "INSERT INTO late (cluster_id, since) VALUES (%s, %s)",
            [batch.cluster, from_seconds(earliest)],
        )


def note_late_in_runs(connection: psycopg.Connection, batch: ValidatedBatch) -> None:
    """Part of the writer's transaction: has runs counted again that ended COUNTING before a record came.

    For a batch without such records it costs a comparison. Records count where they end.
    """
    counted_until = time.time() - COUNTING
    ends = np.concatenate([batch.stops(kind) for kind in COUNTED_KINDS])
    late = ends[ends < counted_until]
    if len(late):
        connection.execute(
            """UPDATE runs_run SET records_came = now()
               WHERE cluster_id = %s AND start <= %s AND stop >= %s AND counted IS NOT NULL""",
            [batch.cluster, from_seconds(float(late.max())), from_seconds(float(late.min()) - EXTENDED)],
        )
