"""Reads the data that runs are compared by: spans, memory over time and workers of a window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_columns
from observatory.store.queries.timeline import OF_LANES, OVERLAPS, WITHIN
from observatory.store.queries.windows.other_work import NONE, OtherWork

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

CLUSTER_MEMORY = "observatory_cluster_memory_bytes"
WORKER_MEMORY = "observatory_worker_memory_bytes"

TYPES = {
    "prefix": "int32",
    "action": "int16",
    "status": "int16",
    "start": "microseconds",
    "stop": "microseconds",
    "nbytes": "int64",
}


def window_spans(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    lanes: Sequence[int] | None = None,
    others: OtherWork = NONE,
) -> dict[str, Array]:
    """Return the spans of `lanes` (None: all) that stopped in (start, stop] as columns of TYPES.

    Takes about 150 bytes a span.
    """
    return fetch_columns(
        connection,
        f"""SELECT prefix_id, action, status, start, stop, nbytes FROM span
            WHERE {OVERLAPS} AND {OF_LANES} AND stop <= %(stop)s AND NOT {others.includes("span")}""",
        {"cluster": cluster, "start": start, "stop": stop, "lanes": lanes, **others.parameters},
        TYPES,
    )


def prefix_names(connection: psycopg.Connection, cluster: int) -> dict[int, tuple[str, str]]:
    """Return name and colour of each prefix of the cluster, by id."""
    rows = connection.execute("SELECT id, name, color FROM prefix WHERE cluster_id = %s", [cluster])
    return {id: (name, color) for id, name, color in rows}


def memory_by_bin(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    kind: str,
    width: float,
    bins: int,
) -> Floats:
    """Return the most memory (bytes) of all workers together in each bin of `width` seconds; NaN: no sample.

    `kind` is a label `type` of CLUSTER_MEMORY.
    """
    found = fetch_columns(
        connection,
        """SELECT floor(extract(epoch FROM time - %(start)s) / %(width)s)::int, max(value)
           FROM sample JOIN series ON series.id = series_id
           WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
             AND series.cluster_id = %(cluster)s AND metric = %(metric)s AND labels @> %(labels)s::jsonb
             AND abs(value) < 'Infinity'
           GROUP BY 1""",
        {
            "cluster": cluster,
            "start": start,
            "stop": stop,
            "width": width,
            "metric": CLUSTER_MEMORY,
            "labels": json.dumps({"type": kind}),
        },
        {"bin": "int32", "value": "float64"},
    )
    return _in_bins(found, bins)


def worker_memory_by_bin(
    connection: psycopg.Connection,
    cluster: int,
    start: datetime,
    stop: datetime,
    workers: Sequence[int],
    width: float,
    bins: int,
) -> Floats:
    """Return the mean memory (bytes) of the processes of `workers` in each bin of `width` seconds.

    A worker counts with its most in the bin, and where it has a sample there. NaN: no sample.
    """
    found = fetch_columns(
        connection,
        f"""SELECT bin, avg(most) FROM (
                SELECT floor(extract(epoch FROM time - %(start)s) / %(width)s)::int AS bin, worker_id,
                    max(value) AS most
                FROM sample JOIN series ON series.id = series_id
                WHERE sample.{WITHIN} AND series.cluster_id = %(cluster)s AND metric = %(metric)s
                  AND labels @> '{{"type": "process"}}' AND worker_id = ANY(%(workers)s)
                  AND abs(value) < 'Infinity'
                GROUP BY 1, 2) AS found
            GROUP BY bin""",
        {
            "cluster": cluster,
            "start": start,
            "stop": stop,
            "width": width,
            "metric": WORKER_MEMORY,
            "workers": list(workers),
        },
        {"bin": "int32", "value": "float64"},
    )
    return _in_bins(found, bins)


def _in_bins(found: dict[str, Array], bins: int) -> Floats:
    values = np.full(bins, np.nan)
    np.fmax.at(values, np.minimum(found["bin"], bins - 1), found["value"])
    return values
