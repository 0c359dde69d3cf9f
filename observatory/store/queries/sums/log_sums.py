"""Sums of log lines by level, process and worker."""

from __future__ import annotations

from typing import LiteralString

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.windows.row_counts import has_more_log_lines

QUERY: LiteralString = f"""
    SELECT level::int AS level, role::int AS role, coalesce(worker_id, 0) AS worker,
        ({microseconds_after_first("time")} / %(width)s::bigint)::int AS bin, count(*)::float8 AS count
    FROM log WHERE cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
    GROUP BY 1, 2, 3, 4"""

LOG_SUMS = SumLayer(
    name="log-sums",
    kinds=("log",),
    keys=("level", "role", "worker"),
    added=("count",),
    query=QUERY,
    has_more=has_more_log_lines,
    named=("worker",),
    named_by="count",
)
"""`role` is a position in ROLES. A line of the scheduler has the worker UNKNOWN."""
