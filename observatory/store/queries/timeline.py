"""Reads the spans, samples, events and profiles of a window that charts draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString, NamedTuple

import numpy.typing as npt
import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.fetch import fetch_columns, fetch_packed_columns
from observatory.store.times import from_microseconds
from observatory.wire.layers import BAND
from observatory.wire.records import Action
from observatory.wire.workers import gpus

Array = npt.NDArray[Any]

SPAN_TYPES = {
    "lane": "int32",
    "prefix": "int32",
    "action": "int16",
    "start": "microseconds",
    "stop": "microseconds",
}

WORK_TYPES = {
    "worker": "int32",
    "prefix": "int32",
    "status": "int16",
    "start": "microseconds",
    "stop": "microseconds",
}

PROFILE_TYPES = {
    "time": "microseconds",
    "worker": "int32",
    "prefix": "int32",
    "source": "int16",
    "stack": "int32",
    "count": "int64",
}

OVERLAPS: LiteralString = "cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s"
WITHIN: LiteralString = "cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s"
OF_LANES: LiteralString = "(%(lanes)s::int[] IS NULL OR lane_id = ANY(%(lanes)s))"


@dataclass(frozen=True, slots=True)
class WorkerAddresses:
    """Where a lifetime of a worker ran. Empty: not known."""

    name: str
    address: str
    host: str
    nanny: str
    process: str
    """id of the process"""


class LayerSeries(NamedTuple):
    id: int
    metric: str
    type: int
    """MetricType"""
    first: int
    """id of the first series of the cluster with the same metric and labels, of any worker and any GPU"""


class WorkerSeries(NamedTuple):
    id: int
    worker: int
    metric: str
    type: int
    """MetricType"""


@dataclass(frozen=True, slots=True)
class SpanCount:
    computations: int
    all: int
    """of all actions"""


@contextmanager
def snapshot(connection: psycopg.Connection) -> Iterator[None]:
    """Read from one snapshot: the rows are those of the batches that the extent counts."""
    with connection.transaction():
        # not read-only: scans of the archive make temporary tables in it
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def worker_addresses(connection: psycopg.Connection, cluster: int) -> list[WorkerAddresses]:
    """Return where the cluster's workers ran, in the order in which they were first seen."""
    with connection.cursor(row_factory=class_row(WorkerAddresses)) as cursor:
        return cursor.execute(
            """SELECT name, address, host, coalesce(detail->>'nanny', '') AS nanny,
                   coalesce(detail->>'pid', '') AS process
               FROM worker WHERE cluster_id = %s ORDER BY position, id""",
            [cluster],
        ).fetchall()


def lanes_of_band(connection: psycopg.Connection, cluster: int, band: int) -> list[int] | None:
    """Return the lanes of a band of workers (wire/layers.py); None if the first band has all workers."""
    further = connection.execute(
        "SELECT FROM worker WHERE cluster_id = %s AND position >= %s LIMIT 1", [cluster, BAND]
    ).fetchone()
    if further is None:
        return None if band == 0 else []
    rows = connection.execute(
        """SELECT lane.id FROM lane JOIN worker ON worker.id = worker_id
           WHERE worker.cluster_id = %s AND worker.position >= %s AND worker.position < %s""",
        [cluster, band * BAND, (band + 1) * BAND],
    )
    return [lane for (lane,) in rows]


def lanes_of_worker(connection: psycopg.Connection, cluster: int, worker: int) -> list[int]:
    """Return the lanes of one lifetime of a worker."""
    rows = connection.execute(
        "SELECT id FROM lane WHERE cluster_id = %s AND worker_id = %s ORDER BY position", [cluster, worker]
    )
    return [lane for (lane,) in rows]


def spans(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, lanes: Sequence[int] | None = None
) -> dict[str, Array]:
    """Return the spans of `lanes` (None: all) that overlap [start, stop) (µs) as columns of SPAN_TYPES."""
    return fetch_packed_columns(
        connection,
        f"SELECT lane_id, prefix_id, action, start, stop FROM span WHERE {OVERLAPS} AND {OF_LANES}",
        {**window_parameters(cluster, start, stop), "lanes": lanes},
        SPAN_TYPES,
    )


def work(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return what computed in spans that overlap [start, stop) (µs) as WORK_TYPES."""
    return fetch_packed_columns(
        connection,
        f"""SELECT worker_id, prefix_id, status, start, stop
            FROM span JOIN lane ON lane.id = lane_id
            WHERE span.{OVERLAPS} AND action = {int(Action.COMPUTE)}""",
        window_parameters(cluster, start, stop),
        WORK_TYPES,
    )


def long_spans(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    shortest: int,
    lanes: Sequence[int] | None = None,
    starts: Sequence[int] = (),
) -> list[tuple[Any, ...]]:
    """Return the spans of at least `shortest` microseconds that overlap [start, stop), sorted by start.

    `starts`: when all of them start (microseconds), where that is known: an index then finds them.
    Rows: lane, prefix, action, status, start, stop (seconds), nbytes, key, typename.
    """
    known: LiteralString = "start = ANY(%(starts)s) AND" if starts else ""
    return _full_spans(
        connection,
        f"{known} {OF_LANES} AND stop - start >= %(shortest)s ORDER BY start, lane_id",
        {
            **window_parameters(cluster, start, stop),
            "shortest": timedelta(microseconds=shortest),
            "lanes": None if lanes is None else list(lanes),
            "starts": [from_microseconds(each) for each in starts],
        },
    )


def count_spans(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> SpanCount:
    """Count the spans that overlap [start, stop) (microseconds)."""
    with connection.cursor(row_factory=class_row(SpanCount)) as cursor:
        found = cursor.execute(
            f"""SELECT count(*) FILTER (WHERE action = %(compute)s) AS computations, count(*) AS all
                FROM span WHERE {OVERLAPS}""",
            {**window_parameters(cluster, start, stop), "compute": Action.COMPUTE},
        ).fetchone()
    assert found is not None
    return found


def span_at(connection: psycopg.Connection, cluster: int, lane: int, at: int) -> tuple[Any, ...] | None:
    """Return the shortest span of a lane at `at` (microseconds), as a row of `long_spans`."""
    found = _full_spans(
        connection,
        "lane_id = %(lane)s ORDER BY stop - start LIMIT 1",
        {**window_parameters(cluster, at, at + 1), "lane": lane},
    )
    return found[0] if found else None


def samples(
    connection: psycopg.Connection, cluster: int, series: Sequence[int], start: int, stop: int
) -> dict[str, Array]:
    """Return the samples of `series` in [start, stop) (µs) as columns: series, time (µs), value; sorted."""
    return fetch_columns(
        connection,
        f"""SELECT series_id, time, value FROM sample
            WHERE {WITHIN} AND series_id = ANY(%(series)s) ORDER BY series_id, time""",
        {**window_parameters(cluster, start, stop), "series": list(series)},
        {"series": "int32", "time": "microseconds", "value": "float64"},
    )


def sampled_series(
    connection: psycopg.Connection, cluster: int, series: Sequence[int], start: int, stop: int
) -> set[int]:
    """Return those of `series` with samples in [start, stop) (microseconds)."""
    rows = connection.execute(
        f"""SELECT id FROM series
            WHERE id = ANY(%(series)s) AND EXISTS (
                SELECT FROM sample WHERE series_id = series.id AND sample.{WITHIN})""",
        {**window_parameters(cluster, start, stop), "series": list(series)},
    )
    return {id for (id,) in rows}


def layer_series(
    connection: psycopg.Connection, cluster: int, metrics: Sequence[str], band: int | None
) -> list[LayerSeries]:
    """Return the series of `metrics` of a band of workers (None: of all), sorted by id.

    Series of the scheduler or the cluster belong to the first band.
    """
    rows = connection.execute(
        """SELECT series.id, metric, type,
               min(series.id) OVER (
                 PARTITION BY metric, labels - %(gpus)s::text[], worker_id IS NULL) AS first
           FROM series LEFT JOIN worker ON worker.id = worker_id
           WHERE series.cluster_id = %(cluster)s AND metric = ANY(%(metrics)s)
             AND (%(band)s::int IS NULL OR coalesce(worker.position, 0) / %(size)s = %(band)s)
           ORDER BY series.id""",
        {"cluster": cluster, "metrics": list(metrics), "band": band, "size": BAND, "gpus": list(gpus.LABELS)},
    ).fetchall()
    return [LayerSeries(*row) for row in rows]


def worker_series(connection: psycopg.Connection, cluster: int, metrics: Sequence[str]) -> list[WorkerSeries]:
    """Return the series of each worker of the first of `metrics` that it has, sorted by id: of each GPU one.

    Of the memory it is that of the process.
    """
    rows = connection.execute(
        """SELECT * FROM (
               SELECT DISTINCT ON (worker_id, labels->>%(device)s)
                 id, worker_id AS worker, metric, type FROM series
               WHERE cluster_id = %(cluster)s AND metric = ANY(%(metrics)s) AND worker_id IS NOT NULL
                 AND coalesce(labels->>'type', 'process') = 'process'
               ORDER BY worker_id, labels->>%(device)s, array_position(%(metrics)s, metric), id) AS chosen
           ORDER BY id""",
        {"cluster": cluster, "metrics": list(metrics), "device": gpus.DEVICE},
    ).fetchall()
    return [WorkerSeries(*row) for row in rows]


def events(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    limit: int | None = None,
    without: Sequence[str] = (),
) -> list[tuple[float, int | None, str, dict[str, Any]]]:
    """Return the first `limit` events in [start, stop) (µs) as rows: time (s), worker, kind, detail."""
    return connection.execute(
        f"""SELECT extract(epoch FROM time)::float8, worker_id, kind, detail FROM event
            WHERE {WITHIN} AND kind <> ALL(%(without)s) ORDER BY time, kind LIMIT %(limit)s""",
        {**window_parameters(cluster, start, stop), "limit": limit, "without": list(without)},
    ).fetchall()


def frequent_event_kinds(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, more_than: int
) -> list[str]:
    """Return the event kinds with more than `more_than` events."""
    rows = connection.execute(
        f"SELECT kind FROM event WHERE {WITHIN} GROUP BY kind HAVING count(*) > %(more)s",
        {**window_parameters(cluster, start, stop), "more": more_than},
    )
    return [kind for (kind,) in rows]


def count_events(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    stop: int,
    kinds: Sequence[str],
    first: int,
    level: int,
) -> dict[tuple[int, str], int]:
    """Count events by bin of 2^level microseconds, starting at `first`, and by kind."""
    rows = connection.execute(
        f"""SELECT ((extract(epoch FROM time) * 1000000)::bigint - %(first)s) >> %(level)s, kind, count(*)
            FROM event WHERE {WITHIN} AND kind = ANY(%(kinds)s) GROUP BY 1, 2""",
        {**window_parameters(cluster, start, stop), "first": first, "level": level, "kinds": list(kinds)},
    )
    return {(bin, kind): count for bin, kind, count in rows}


def profile_rows(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[str, Array]:
    """Return the profile rows in [start, stop) (microseconds) as columns of PROFILE_TYPES.

    Worker -1 is the scheduler, prefix 0 is none.
    """
    return fetch_columns(
        connection,
        f"""SELECT time, coalesce(worker_id, -1), coalesce(prefix_id, 0), source, stack_id, count FROM profile
            WHERE {WITHIN}""",
        window_parameters(cluster, start, stop),
        PROFILE_TYPES,
    )


def _full_spans(
    connection: psycopg.Connection, condition: LiteralString, parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    # names are read after the spans: PostgreSQL expects few spans, and would go through all groups for each
    rows = connection.execute(
        f"""SELECT lane_id, prefix_id, action, status, extract(epoch FROM start)::float8,
                extract(epoch FROM stop)::float8, nbytes, key_rest, group_id, typename_id
            FROM span WHERE {OVERLAPS} AND {condition}""",
        parameters,
    ).fetchall()
    groups = _names(connection, "SELECT id, name FROM task_group WHERE id = ANY(%s)", rows, 8)
    types = _names(connection, "SELECT id, name FROM typename WHERE id = ANY(%s)", rows, 9)
    return [(*row[:7], decode_key(row[7], groups[row[8]]), types[row[9]]) for row in rows]


def _names(
    connection: psycopg.Connection, query: LiteralString, rows: list[tuple[Any, ...]], place: int
) -> dict[int, str]:
    """Return the names by id of the ids that are at `place` in the rows."""
    return dict(connection.execute(query, [list({row[place] for row in rows})]).fetchall())


def window_parameters(cluster: int, start: int, stop: int) -> dict[str, Any]:
    """Return the parameters of OVERLAPS and WITHIN; `start` and `stop` in microseconds."""
    return {"cluster": cluster, "start": from_microseconds(start), "stop": from_microseconds(stop)}
