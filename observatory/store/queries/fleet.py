"""Reads the newest figures of many clusters at once."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg.types.json import Jsonb

RATE_SECONDS = 60.0
"""over which a counter's rate is taken"""


Gauge = tuple[str, Mapping[str, str]]
"""metric and labels of a series that belongs to no worker"""


def newest_values(
    connection: psycopg.Connection, ages: Mapping[int, float], gauges: Mapping[str, Gauge]
) -> dict[int, dict[str, float]]:
    """The newest finite value of each of the `gauges` (by name), by cluster and name.

    `ages`: by cluster, how many seconds before its last record a sample may be.
    """
    rows = connection.execute(
        """WITH wanted AS MATERIALIZED (
               SELECT series.id, series.cluster_id, name, last, last - age * interval '1 s' AS oldest
               FROM unnest(%(clusters)s::int[], %(ages)s::float8[]) AS asked (cluster, age)
               JOIN extent ON extent.cluster_id = cluster
               JOIN series ON series.cluster_id = cluster AND metric = ANY(%(metrics)s) AND worker_id IS NULL
               JOIN unnest(%(names)s::text[], %(metrics)s::text[], %(labels)s::jsonb[])
                   AS gauge (name, metric, labels) USING (metric, labels)
           )
           SELECT cluster_id, array_agg(name), array_agg(newest.value)
           FROM wanted CROSS JOIN LATERAL (
               SELECT value FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster_id
                 AND time <= wanted.last AND time >= wanted.oldest
               ORDER BY time DESC LIMIT 1
           ) AS newest
           WHERE newest.value > '-Infinity' AND newest.value < 'Infinity'
           GROUP BY cluster_id""",
        {
            "clusters": list(ages),
            "ages": list(ages.values()),
            "names": list(gauges),
            "metrics": [metric for metric, _ in gauges.values()],
            "labels": [Jsonb(labels) for _, labels in gauges.values()],
        },
    )
    return {cluster: dict(zip(names, values, strict=True)) for cluster, names, values in rows}


def newest_rates(connection: psycopg.Connection, ages: Mapping[int, float], metric: str) -> dict[int, float]:
    """A counter's increase per second by cluster, over the RATE_SECONDS before its newest sample.

    Clusters are left out without two samples, or after the counter began again. `ages`: as of newest_values.
    """
    rows = connection.execute(
        """WITH wanted AS MATERIALIZED (
               SELECT series.id, series.cluster_id, last, last - age * interval '1 s' AS oldest
               FROM unnest(%(clusters)s::int[], %(ages)s::float8[]) AS asked (cluster, age)
               JOIN extent ON extent.cluster_id = cluster
               JOIN series ON series.cluster_id = cluster AND metric = %(metric)s AND worker_id IS NULL
           )
           SELECT cluster_id,
               sum((newest.value - before.value) / extract(epoch FROM newest.time - before.time)::float8)
           FROM wanted CROSS JOIN LATERAL (
               SELECT value, time FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster_id
                 AND time <= wanted.last AND time >= wanted.oldest
               ORDER BY time DESC LIMIT 1
           ) AS newest CROSS JOIN LATERAL (
               SELECT value, time FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster_id
                 AND time < newest.time AND time >= newest.time - %(rate)s * interval '1 s'
               ORDER BY time LIMIT 1
           ) AS before
           WHERE newest.value >= before.value AND newest.value < 'Infinity'
           GROUP BY cluster_id""",
        {"clusters": list(ages), "ages": list(ages.values()), "metric": metric, "rate": RATE_SECONDS},
    )
    return dict(rows.fetchall())
