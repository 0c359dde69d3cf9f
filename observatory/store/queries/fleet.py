"""Reads the newest figures of many clusters at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg

RATE_SECONDS = 60.0
"""over which a counter's rate is taken"""


@dataclass(frozen=True, slots=True)
class NewestSample:
    """The newest sample of a series of a cluster."""

    cluster: int
    metric: str
    label: str
    """value of its only label, "" without one"""
    value: float
    time: float
    """seconds, on the scheduler's clock"""


def newest_samples(
    connection: psycopg.Connection, ages: Mapping[int, float], metrics: Sequence[str]
) -> list[NewestSample]:
    """The newest sample of each series of `metrics` that belongs to no worker.

    `ages`: by cluster, how many seconds before its last record a sample may be.
    """
    rows = connection.execute(
        """WITH wanted AS MATERIALIZED (
               SELECT series.id, series.cluster_id, metric, labels, last,
                   last - age * interval '1 s' AS oldest
               FROM unnest(%(clusters)s::int[], %(ages)s::float8[]) AS asked (cluster, age)
               JOIN extent ON extent.cluster_id = cluster
               JOIN series ON series.cluster_id = cluster AND metric = ANY(%(metrics)s) AND worker_id IS NULL
           )
           SELECT cluster_id, metric, coalesce((SELECT min(value) FROM jsonb_each_text(labels)), ''),
               newest.value, extract(epoch FROM newest.time)::float8
           FROM wanted CROSS JOIN LATERAL (
               SELECT value, time FROM sample
               WHERE series_id = wanted.id AND cluster_id = wanted.cluster_id
                 AND time <= wanted.last AND time >= wanted.oldest
               ORDER BY time DESC LIMIT 1
           ) AS newest
           WHERE newest.value > '-Infinity' AND newest.value < 'Infinity'""",
        {"clusters": list(ages), "ages": list(ages.values()), "metrics": list(metrics)},
    )
    return [NewestSample(*row) for row in rows]


def newest_rates(connection: psycopg.Connection, ages: Mapping[int, float], metric: str) -> dict[int, float]:
    """A counter's increase per second by cluster, over the RATE_SECONDS before its newest sample.

    Clusters are left out without two samples, or after the counter began again. `ages`: as of newest_samples.
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
