"""Sums of the data that tasks fetched from other workers, by the prefix of the task that waited for it."""

from __future__ import annotations

from typing import LiteralString

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.windows.row_counts import has_more_transfers
from observatory.wire.records import Action

# Dask gives the span of the task that waited and the entry in the log of transfers the same times
QUERY: LiteralString = f"""
    WITH waiting AS MATERIALIZED (
        SELECT DISTINCT ON (worker_id, start) worker_id, start, prefix_id
        FROM span JOIN lane ON lane.id = lane_id
        WHERE span.cluster_id = %(cluster)s AND action = {int(Action.TRANSFER)}
            AND start >= %(start)s AND start < %(stop)s
        ORDER BY worker_id, start, prefix_id)
    SELECT coalesce(prefix_id, 0) AS prefix,
        ({microseconds_after_first("start")} / %(width)s::bigint)::int AS bin,
        count(*)::float8 AS count, sum(nbytes)::float8 AS nbytes
    FROM transfer LEFT JOIN waiting USING (worker_id, start)
    WHERE cluster_id = %(cluster)s AND direction = 0 AND start >= %(start)s AND start < %(stop)s
    GROUP BY 1, 2"""


PREFIX_TRANSFER_SUMS = SumLayer(
    name="prefix-transfer-sums",
    kinds=("transfer", "span"),
    keys=("prefix",),
    added=("count", "nbytes"),
    query=QUERY,
    has_more=has_more_transfers,
    named=("prefix",),
    named_by="nbytes",
)
"""A transfer counts where it starts. One for which no task waited has the prefix UNKNOWN."""
