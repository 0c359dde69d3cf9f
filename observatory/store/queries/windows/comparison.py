"""Reads the data that runs are compared by: spans, memory over time and workers of a window."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_columns
from observatory.store.queries.timeline import OVERLAPS

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

CLUSTER_MEMORY = "observatory_cluster_memory_bytes"

TYPES = {
    "prefix": "int32",
    "action": "int16",
    "status": "int16",
    "start": "microseconds",
    "stop": "microseconds",
    "nbytes": "int64",
}


def window_spans(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> dict[str, Array]:
    """Return the spans that stopped in (start, stop] as columns of TYPES; takes about 150 bytes a span."""
    return fetch_columns(
        connection,
        f"""SELECT prefix_id, action, status, start, stop, nbytes FROM span
            WHERE {OVERLAPS} AND stop <= %(stop)s""",
        {"cluster": cluster, "start": start, "stop": stop},
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
    memory = np.full(bins, np.nan)
    np.fmax.at(memory, np.minimum(found["bin"], bins - 1), found["value"])
    return memory
