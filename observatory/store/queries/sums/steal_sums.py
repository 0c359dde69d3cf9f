"""Sums of the outcomes of work stealing, by victim and thief."""

from __future__ import annotations

from typing import LiteralString

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.sums.transfer_sums import LIFETIMES
from observatory.store.queries.timeline import WITHIN
from observatory.store.queries.windows.row_counts import has_more_steals

OUTCOMES = ("other", "confirm", "already-computing", "reschedule", "stale-response", "already-aborted")
"""of requests; another version of Dask may have others"""
_POSITIONS: LiteralString = (
    "array_position(ARRAY['confirm', 'already-computing', 'reschedule', 'stale-response', "
    "'already-aborted'], outcome)"
)

QUERY: LiteralString = f"""
    WITH lifetime AS MATERIALIZED ({LIFETIMES})
    SELECT coalesce(victims.id, 0) AS victim, coalesce(thieves.id, 0) AS thief,
        coalesce({_POSITIONS}, 0) AS outcome,
        ({microseconds_after_first("time")} / %(width)s::bigint)::int AS bin, count(*)::float8 AS count
    FROM steal
    LEFT JOIN lifetime AS victims ON victims.address = victim
        AND time >= victims.started AND time < victims.until
    LEFT JOIN lifetime AS thieves ON thieves.address = thief
        AND time >= thieves.started AND time < thieves.until
    WHERE {WITHIN} AND outcome <> 'request'
    GROUP BY 1, 2, 3, 4"""

STEAL_SUMS = SumLayer(
    name="steal-sums",
    kinds=("steal",),
    keys=("victim", "thief", "outcome"),
    added=("count",),
    query=QUERY,
    has_more=has_more_steals,
    named=("victim", "thief"),
    named_by="count",
)
"""`outcome` is a position in OUTCOMES. A request counts when its outcome is known."""
