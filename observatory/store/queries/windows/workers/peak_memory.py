"""The most memory that the workers of a window used, and what there was at that time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

import psycopg

from observatory.store.queries.windows.workers.existence import worker_existence
from observatory.store.workers.processes import PROCESS
from observatory.store.workers.slots import SLOT

MEMORY = "observatory_worker_memory_bytes"
BIN = timedelta(seconds=5)
"""in which each worker has a sample; of several, the greatest counts"""

# Workers that share a process report its memory, each; what is spilled is each worker's own. Of a worker
# that was restarted within a bin the larger process counts.
PEAKS: LiteralString = f"""
    WITH member AS MATERIALIZED (
        SELECT id, {PROCESS} AS process, {SLOT} AS slot FROM worker WHERE cluster_id = %(cluster)s),
    by_worker AS (
        SELECT labels->>'type' AS type, date_bin(%(width)s, time, 'epoch') AS bin, worker_id,
            max(value) AS value
        FROM sample JOIN series ON series.id = series_id
        WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
          AND series.cluster_id = %(cluster)s AND metric = %(metric)s
          AND labels->>'type' IN ('process', 'spilled') AND value < 'Infinity'
        GROUP BY 1, 2, 3),
    by_process AS (
        SELECT type, bin, min(slot) AS slot, max(value) AS value
        FROM by_worker JOIN member ON member.id = worker_id
        GROUP BY type, bin, CASE type WHEN 'process' THEN process ELSE id::text END),
    by_slot AS (SELECT type, bin, max(value) AS value FROM by_process GROUP BY type, bin, slot)
    SELECT DISTINCT ON (type) type, bin, sum(value)::float8 FROM by_slot
    GROUP BY type, bin ORDER BY type, 3 DESC, bin"""


@dataclass(frozen=True, slots=True)
class PeakMemory:
    """Bytes, summed over workers; None: no samples."""

    process: float | None
    """most memory of the workers' processes"""
    limit: int | None
    """the memory limits of the workers that there were then; 0: none had one"""
    spilled: float | None
    """the most that was on disk at a time; it isn't part of `process`"""


def peak_memory(connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime) -> PeakMemory:
    """Return the peaks of the window [start, stop)."""
    window = {"cluster": cluster, "start": start, "stop": stop, "metric": MEMORY, "width": BIN}
    peaks = {type: (at, value) for type, at, value in connection.execute(PEAKS, window)}
    _, spilled = peaks.get("spilled", (None, None))
    if "process" not in peaks:
        return PeakMemory(None, None, spilled)
    at, most = peaks["process"]
    there = worker_existence(connection, cluster, max(at, start), min(at + BIN, stop))
    return PeakMemory(most, there.memory_limit, spilled)
