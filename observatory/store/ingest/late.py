"""Notes that a batch had late records, as part of the writer's transaction."""

from __future__ import annotations

import psycopg

from observatory.store.ingest.batches.validated import ValidatedBatch
from observatory.store.late_records import LATENESS
from observatory.store.times import from_seconds

ALERTED_KINDS = ("sample", "event", "log", "error")
"""the kinds of records that alerts are about"""


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
