"""The query of layers that add up spans."""

from __future__ import annotations

from typing import LiteralString

import psycopg

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.windows.row_counts import has_more_spans
from observatory.wire.records import Status

BUCKETS_OF_AN_OCTAVE = 36
"""The durations of a bucket, in microseconds, differ by less than a factor of 2^(1/36), which is 1.94 %."""
ADDED = ("count", "seconds", "nbytes", "erred")
GREATEST = ("longest",)
LEAST = ("shortest",)
DURATIONS = ("seconds", "longest")
"""Seconds are those within the window; everything else counts where a span ends."""
MOST_ROWS = 100_000
"""of a tile by bucket"""


def span_query(keys: LiteralString, columns: LiteralString, rows: LiteralString) -> LiteralString:
    """Return the query of a layer with the columns ADDED, GREATEST and LEAST.

    `keys` are names of `columns`, which are selected from `rows` (span, with its joins and a condition), or
    `bucket`, which the query adds.
    """
    return f"""
    SELECT {keys}, bin::int AS bin,
        sum(ends_here::int)::float8 AS count,
        sum(greatest(least(stop, high, (bin + 1) * width) - greatest(start, low, bin * width), 0))::float8
            / 1e6 AS seconds,
        coalesce(sum(nbytes) FILTER (WHERE ends_here), 0)::float8 AS nbytes,
        sum((ends_here AND status = {int(Status.ERROR)})::int)::float8 AS erred,
        coalesce(max(stop - start) FILTER (WHERE ends_here), 0)::float8 / 1e6 AS longest,
        coalesce(min(stop - start) FILTER (WHERE ends_here)::float8 / 1e6, 'Infinity') AS shortest
    FROM (
        SELECT *, (last >= low AND last < high AND last / width = bin) AS ends_here
        FROM (
            SELECT *, greatest(stop - 1, start) AS last,
                floor({BUCKETS_OF_AN_OCTAVE} / ln(2::float8) * ln(greatest(stop - start, 1)::float8))::int
                    AS bucket
            FROM (
                SELECT {columns}, span.status, nbytes,
                    {microseconds_after_first("start")} AS start, {microseconds_after_first("stop")} AS stop,
                    %(low)s::bigint AS low, %(high)s::bigint AS high, %(width)s::bigint AS width
                FROM {rows} AND span.cluster_id = %(cluster)s AND start < %(stop)s AND stop >= %(start)s
            ) AS found
        ) AS found CROSS JOIN LATERAL
            generate_series(greatest(start, low) / width, least(last, high - 1) / width) AS bin
        WHERE start < high AND last >= low
    ) AS found
    GROUP BY {keys}, bin"""


def durations_layer(
    name: str, named: str, keys: LiteralString, columns: LiteralString, rows: LiteralString
) -> SumLayer:
    """Return a layer of spans by `keys` and by the bucket of their durations; `named` is the key with names.

    For the others see span_query.
    """
    return SumLayer(
        name=name,
        kinds=("span",),
        keys=(*keys.split(", "), "bucket"),
        added=ADDED,
        greatest=GREATEST,
        least=LEAST,
        durations=(*DURATIONS, *LEAST),
        query=span_query(f"{keys}, bucket", columns, rows),
        has_more=has_more,
        named=(named,),
        named_by="seconds",
        most_rows=MOST_ROWS,
    )


def has_more(connection: psycopg.Connection, cluster: int, start: int, stop: int, than: int) -> bool:
    return has_more_spans(connection, cluster, start, stop, None, than)
