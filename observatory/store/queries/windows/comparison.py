"""Reads the data that runs are compared by: spans, memory over time and workers of a window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.rows import class_row

from observatory.store.queries.fetch import fetch_columns
from observatory.store.queries.timeline import OVERLAPS
from observatory.store.queries.windows.totals import MEMORY

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

TYPES = {
    "prefix": "int32",
    "action": "int16",
    "status": "int16",
    "start": "microseconds",
    "stop": "microseconds",
    "nbytes": "int64",
}


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """A worker's configuration, as it reported it."""

    host: str
    nthreads: int
    memory_limit: int
    """bytes; 0: none"""
    resources: dict[str, Any]
    detail: dict[str, Any]


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


def worker_specs(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[WorkerSpec]:
    """Return the workers whose lifetime overlaps the window, in order of their row on screen."""
    with connection.cursor(row_factory=class_row(WorkerSpec)) as cursor:
        return cursor.execute(
            """SELECT host, nthreads, memory_limit, resources, detail FROM worker
               WHERE cluster_id = %s AND started < %s AND (ended IS NULL OR ended > %s) ORDER BY position""",
            [cluster, stop, start],
        ).fetchall()


def memory_by_bin(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, width: float, bins: int
) -> Floats:
    """Return each worker's maximum process memory (bytes) in each bin of `width` seconds; NaN: no sample."""
    found = fetch_columns(
        connection,
        """SELECT series_id, floor(extract(epoch FROM time - %(start)s) / %(width)s)::int, max(value)
           FROM sample JOIN series ON series.id = series_id
           WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
             AND series.cluster_id = %(cluster)s AND metric = %(metric)s AND labels @> '{"type": "process"}'
           GROUP BY 1, 2""",
        {"cluster": cluster, "start": start, "stop": stop, "width": width, "metric": MEMORY},
        {"series": "int32", "bin": "int32", "value": "float64"},
    )
    series, rows = np.unique(found["series"], return_inverse=True)
    memory = np.full((len(series), bins), np.nan)
    memory[rows, np.minimum(found["bin"], bins - 1)] = found["value"]
    return memory
