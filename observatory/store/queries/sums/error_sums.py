"""Failed attempts by prefix, and whether another one followed."""

from __future__ import annotations

from typing import LiteralString

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.timeline import WITHIN
from observatory.store.queries.windows.row_counts import has_more_errors

QUERY: LiteralString = f"""
    SELECT prefix_id AS prefix, (outcome = 'retried')::int AS retried,
        ({microseconds_after_first("time")} / %(width)s::bigint)::int AS bin, count(*)::float8 AS count
    FROM error WHERE {WITHIN} GROUP BY 1, 2, 3"""


ERROR_SUMS = SumLayer(
    name="error-sums",
    kinds=("error",),
    keys=("prefix", "retried"),
    added=("count",),
    query=QUERY,
    has_more=has_more_errors,
    named=("prefix",),
    named_by="count",
)
