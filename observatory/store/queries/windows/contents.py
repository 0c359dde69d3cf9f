"""Reads what was computed in a window: the main prefixes with their durations, and the computations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from observatory.store.queries.windows.activity import SUBMITTED_BEFORE
from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.wire.records import Action

MOST_SUBMITTED = 2_000
"""computations of a window that are looked at"""
MOST_WITH_CODE = 8
"""of these"""
BINS_OF_OCTAVE = 4
"""histograms of durations have logarithmic bins"""


@dataclass(frozen=True, slots=True)
class PrefixContents:
    name: str
    tasks: int
    """that stopped in the window"""
    seconds: float
    """computing time in the window, summed over threads"""
    shortest: float
    median: float
    p95: float
    longest: float
    """seconds that tasks computed, of those that stopped in the window"""
    histogram: list[tuple[int, int]]
    """tasks by duration: bin n begins at 2^(n / BINS_OF_OCTAVE) microseconds; sorted"""


@dataclass(frozen=True, slots=True)
class Computation:
    """Graphs that a client submitted together, as Dask counts computations."""

    time: float
    """seconds"""
    code: str
    tasks: int
    """computed in the window"""
    seconds: float
    """from its submission to the end of its last task in the window"""


def main_prefix_contents(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    limit: int,
    others: OtherWork = NONE,
) -> list[PrefixContents]:
    """Return the prefixes that computed longest in [start, stop), the longest first."""
    rows = connection.execute(
        f"""WITH computed AS MATERIALIZED (
               SELECT prefix_id, extract(epoch FROM stop - start)::float8 AS duration,
                      extract(epoch FROM stop - greatest(start, %(start)s))::float8 AS seconds
               FROM span
               WHERE cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s AND stop <= %(stop)s
                 AND action = %(compute)s AND NOT {others.includes("span")}
           ), main AS (
               SELECT prefix_id, name, sum(seconds) AS seconds
               FROM computed JOIN prefix ON prefix.id = prefix_id
               GROUP BY prefix_id, name ORDER BY seconds DESC, name LIMIT %(limit)s
           ), binned AS (
               SELECT prefix_id, count(*) AS tasks,
                      floor(ln(greatest(duration * 1e6, 1)) / ln(2.0::float8) * %(bins)s)::int AS bin
               FROM computed WHERE prefix_id IN (SELECT prefix_id FROM main) GROUP BY prefix_id, bin
           ), totals AS (
               SELECT prefix_id, array_agg(bin ORDER BY bin) AS bins, array_agg(tasks ORDER BY bin) AS counts
               FROM binned GROUP BY prefix_id
           ), durations AS (
               SELECT prefix_id, count(*) AS tasks, min(duration) AS shortest, max(duration) AS longest,
                      percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY duration) AS quantiles
               FROM computed WHERE prefix_id IN (SELECT prefix_id FROM main) GROUP BY prefix_id
           )
           SELECT name, tasks, seconds, shortest, quantiles[1], quantiles[2], longest, bins, counts
           FROM main JOIN durations USING (prefix_id) JOIN totals USING (prefix_id)
           ORDER BY seconds DESC, name""",
        {**_window(cluster, start, stop), **others.parameters, "limit": limit, "bins": BINS_OF_OCTAVE},
    )
    return [
        PrefixContents(
            name, tasks, seconds, shortest, median, p95, longest, list(zip(bins, counts, strict=True))
        )
        for name, tasks, seconds, shortest, median, p95, longest, bins, counts in rows
    ]


def window_computations(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    others: OtherWork = NONE,
) -> list[Computation]:
    """Return the computations of which tasks were computed in [start, stop), sorted by time.

    The first MOST_WITH_CODE of them have their code.

    A graph may have been submitted up to SUBMITTED_BEFORE the window. A graph lists the groups that it
    depends on, too: a group is counted for the last graph before its first task.
    """
    rows = connection.execute(
        f"""WITH submitted AS (
               SELECT time, computation, code <> '' AS has_code,
                      CASE jsonb_typeof(groups) WHEN 'array' THEN groups ELSE '[]' END AS groups
               FROM computation
               WHERE cluster_id = %(cluster)s AND time >= %(earliest)s AND time < %(stop)s
                 AND {others.submitted}
               ORDER BY time LIMIT %(most)s
           ), computed AS (
               SELECT task_group.name, count(*) AS tasks, min(start) AS first, max(stop) AS last
               FROM span JOIN task_group ON task_group.id = group_id
               WHERE span.cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s
                 AND stop <= %(stop)s AND action = %(compute)s AND NOT {others.includes("span")}
               GROUP BY task_group.name
           ), owned AS (
               SELECT DISTINCT ON (name) name, tasks, last, computation
               FROM submitted CROSS JOIN LATERAL jsonb_array_elements(groups) AS item
               JOIN computed ON jsonb_typeof(item.value) = 'array' AND name = item.value->>0
               ORDER BY name, time > first, abs(extract(epoch FROM time - first))
           ), submission AS (
               SELECT computation, min(time) AS time, max(time) FILTER (WHERE has_code) AS described
               FROM submitted GROUP BY computation
           ), found AS (
               SELECT computation, time, described, sum(tasks)::bigint AS tasks,
                      greatest(extract(epoch FROM max(last) - time), 0)::float8 AS seconds
               FROM owned JOIN submission USING (computation)
               GROUP BY computation, time, described
           )
           SELECT extract(epoch FROM time)::float8,
                  CASE WHEN row_number() OVER (ORDER BY time) > %(with_code)s THEN ''
                  ELSE coalesce((
                      SELECT code FROM computation
                      WHERE computation.cluster_id = %(cluster)s
                        AND computation.time = found.described
                        AND computation.computation = found.computation LIMIT 1), '')
                  END, tasks, seconds
           FROM found ORDER BY time""",
        {
            **_window(cluster, start, stop),
            **others.parameters,
            "earliest": start - SUBMITTED_BEFORE,
            "with_code": MOST_WITH_CODE,
            "most": MOST_SUBMITTED,
        },
    )
    return [Computation(*row) for row in rows]


def _window(cluster: int, start: datetime, stop: datetime) -> dict[str, Any]:
    return {"cluster": cluster, "start": start, "stop": stop, "compute": int(Action.COMPUTE)}
