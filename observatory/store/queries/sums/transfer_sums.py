"""Sums of transfers between workers, by sender and receiver."""

from __future__ import annotations

from typing import LiteralString

import psycopg

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.windows.row_counts import has_more_spans, has_more_transfers
from observatory.store.times import from_microseconds
from observatory.wire.clocks import TOLERANCE
from observatory.wire.records import Action

FIRST_LOGGED: LiteralString = "(SELECT min(start) FROM transfer WHERE cluster_id = %(cluster)s)"
"""From here on the workers' logs have all transfers. Before, spans say who received, but not what of whom:
their `nbytes` is the size of the waiting task's own result."""

RECEIVED: LiteralString = "direction IN (0, 2)"
"""results and shards of P2P shuffles, as their receivers got them"""
LIFETIMES: LiteralString = f"""
    SELECT id, address, started - interval '{TOLERANCE} s' AS started,
        lead(started - interval '{TOLERANCE} s', 1, 'infinity')
            OVER (PARTITION BY address ORDER BY started) AS until
    FROM worker WHERE cluster_id = %(cluster)s"""

QUERY: LiteralString = f"""
    WITH lifetime AS MATERIALIZED ({LIFETIMES}),
    moved AS (
        SELECT lifetime.id AS sender, worker_id AS receiver, start, stop, nbytes, 0 AS unsized,
            CASE direction WHEN 2 THEN count ELSE 1 END AS count,
            CASE direction WHEN 2 THEN 0 ELSE nbytes END AS largest
        FROM transfer LEFT JOIN lifetime ON address = peer AND start >= started AND start < until
        WHERE cluster_id = %(cluster)s AND {RECEIVED} AND start >= %(start)s AND start < %(stop)s
        UNION ALL
        SELECT NULL, worker_id, start, stop, 0, 1, 1, 0 FROM span JOIN lane ON lane.id = lane_id
        WHERE span.cluster_id = %(cluster)s AND action = {int(Action.TRANSFER)}
            AND start >= %(start)s AND start < %(stop)s
            AND start < coalesce({FIRST_LOGGED}, 'infinity'))
    SELECT coalesce(sender, 0) AS sender, coalesce(receiver, 0) AS receiver,
        ({microseconds_after_first("start")} / %(width)s::bigint)::int AS bin,
        sum(count)::float8 AS count, sum(nbytes)::float8 AS nbytes,
        sum(date_part('epoch', stop - start)) AS seconds, sum(unsized)::float8 AS unsized,
        max(largest)::float8 AS largest
    FROM moved GROUP BY 1, 2, 3"""


def _has_more(connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int) -> bool:
    if has_more_transfers(connection, cluster, start, stop, than):
        return True
    [first] = connection.execute(f"SELECT {FIRST_LOGGED}", {"cluster": cluster}).fetchone() or [None]
    is_logged = first is not None and first <= from_microseconds(start)
    return not is_logged and has_more_spans(connection, cluster, start, stop, None, than)


TRANSFER_SUMS = SumLayer(
    name="transfer-sums",
    kinds=("transfer", "span"),
    keys=("sender", "receiver"),
    added=("count", "nbytes", "seconds", "unsized"),
    greatest=("largest",),
    durations=("seconds",),
    query=QUERY,
    has_more=_has_more,
    named=("sender", "receiver"),
    named_by="nbytes",
)
"""A transfer counts where it starts. One that only a span tells of has the sender UNKNOWN and no bytes: it is
`unsized`. `largest` is the bytes of the largest one. Of P2P shuffles messages count; none is the
largest."""
