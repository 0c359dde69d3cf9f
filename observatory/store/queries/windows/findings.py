"""Reads the records that findings of a window need, beside the time of its threads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row

from observatory.store.keys import decode_key
from observatory.store.queries.fetch import Array, fetch_columns
from observatory.store.queries.timeline import OVERLAPS, WITHIN, window_parameters
from observatory.store.queries.windows.other_work import NONE, TASK, OtherWork
from observatory.store.times import from_microseconds
from observatory.wire.records import SOURCES, Action
from observatory.wire.workers import gpus

EARLIER_WITHIN = 86_400_000_000
"""microseconds before a window, in which tasks of it can have been sent"""
BINS = 240
"""of a window, each with one value of a series"""
BIN_TYPES = {"worker": "int32", "bin": "int32", "value": "float64"}
ENDS: LiteralString = """
    SELECT id, name, address, nthreads AS threads, memory_limit, resources,
        coalesce(nullif(host, ''), regexp_replace(address, '^\\w+://|:\\d+$', '', 'g')) AS host,
        extract(epoch FROM started)::float8 AS started, extract(epoch FROM ended)::float8 AS ended,
        end_reason AS reason
    FROM worker
    WHERE cluster_id = %(cluster)s AND started < %(stop)s AND coalesce(ended > %(start)s, true)
    ORDER BY started, id"""
ARRIVED_AFTER: LiteralString = """
    WITH process AS (
        SELECT id, name, address, nthreads AS threads, started, CASE
                WHEN jsonb_typeof(detail->'process_started') = 'number'
                THEN (detail->'process_started')::float8 END AS begun,
            lag(ended) OVER (PARTITION BY host, detail->>'pid' ORDER BY started, id) AS left_before,
            lag(id) OVER (PARTITION BY coalesce(nullif(name, ''), address) ORDER BY started, id) AS before
        FROM worker WHERE cluster_id = %(cluster)s)
    SELECT threads, extract(epoch FROM started)::float8 AS started FROM process
    WHERE started >= %(stop)s AND before IS NULL
        AND greatest(begun, extract(epoch FROM left_before)::float8) < extract(epoch FROM %(stop)s)
    ORDER BY started LIMIT 1000"""
FAILURES: LiteralString = f"""
    WITH counted AS (
        SELECT exception_type, prefix_id AS prefix, outcome, count(*) AS count, max(dependents) AS dependents,
            min(time) AS first, (array_agg(error.id ORDER BY time, error.id))[1] AS id
        FROM error WHERE {WITHIN} AND NOT {{is_other}}
        GROUP BY 1, 2, 3 ORDER BY count DESC, first LIMIT %(limit)s)
    SELECT counted.*, error.message, error.worker_id AS worker, error.key_rest AS key,
        task_group.name AS group_name, ARRAY(
            SELECT listed.value FROM jsonb_array_elements_text(
                CASE jsonb_typeof(workers) WHEN 'array' THEN workers ELSE '[]' END) AS listed
            WHERE listed.value IS NOT NULL LIMIT 20) AS workers
    FROM counted
    JOIN error ON error.cluster_id = %(cluster)s AND error.time = first AND error.id = counted.id
    JOIN task_group ON task_group.id = error.group_id
    ORDER BY first, counted.id"""
EVENTS: LiteralString = f"""
    SELECT extract(epoch FROM time)::float8 AS time, kind, worker_id AS worker, detail FROM event
    WHERE {WITHIN} AND kind = ANY(%(kinds)s) ORDER BY time LIMIT %(limit)s"""
SERIES: LiteralString = f"""
    SELECT coalesce(worker_id, 0), bin, CASE %(function)s WHEN 'max' THEN most ELSE mean END
    FROM (
        SELECT worker_id, avg(value) AS mean, max(value) AS most,
            width_bucket(extract(epoch FROM time)::float8, extract(epoch FROM %(start)s)::float8,
                extract(epoch FROM %(stop)s)::float8, {BINS}) - 1 AS bin
        FROM series JOIN sample ON series_id = series.id
        WHERE series.cluster_id = %(cluster)s AND metric = %(metric)s
            AND (%(value)s = '' OR labels->>%(label)s = %(value)s)
            AND sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
        GROUP BY worker_id, bin) AS binned
    ORDER BY 1, 2"""
GPU_TYPES = {"worker": "int32", "gpu": "int32", "bin": "int32", "mean": "float64", "most": "float64"}
GPUS: LiteralString = """
    SELECT worker_id, gpu,
        width_bucket(extract(epoch FROM time)::float8, extract(epoch FROM %(start)s)::float8,
            extract(epoch FROM %(stop)s)::float8, %(bins)s) - 1 AS bin,
        avg(value), max(value)
    FROM (
        SELECT id, worker_id, dense_rank() OVER (ORDER BY labels->>%(device)s NULLS FIRST)::int AS gpu
        FROM series
        WHERE cluster_id = %(cluster)s AND metric = %(metric)s AND worker_id IS NOT NULL) AS of_gpu
    JOIN sample ON series_id = of_gpu.id
    WHERE sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
LABELLED: LiteralString = """
    SELECT labels->>%(label)s AS label, extract(epoch FROM time)::float8 AS time, sum(value) AS value
    FROM series JOIN sample ON series_id = series.id
    WHERE series.cluster_id = %(cluster)s AND metric = %(metric)s AND labels ? %(label)s
        AND sample.cluster_id = %(cluster)s AND time >= %(start)s AND time < %(stop)s
    GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %(limit)s"""
TASKS: LiteralString = f"""
    SELECT key_rest, task_group.name, nbytes FROM unnest(%(lanes)s::int[], %(starts)s::timestamptz[])
        WITH ORDINALITY AS wanted (lane, at, place)
    JOIN LATERAL (
        SELECT key_rest, group_id, nbytes FROM span
        WHERE cluster_id = %(cluster)s AND lane_id = lane AND start = at
            AND action IN ({int(Action.COMPUTE)}, {int(Action.LONG_RUNNING)}) LIMIT 1
    ) AS found ON true
    JOIN task_group ON task_group.id = group_id ORDER BY place"""
SIZES: LiteralString = f"""
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY nbytes)::float8 FROM span
    WHERE {OVERLAPS} AND action = {int(Action.COMPUTE)} AND prefix_id = %(prefix)s"""
PAIRS: LiteralString = """
    SELECT sender.id AS sender, worker_id AS receiver, count(*) AS count,
        sum(transfer.nbytes)::float8 AS nbytes,
        sum(extract(epoch FROM transfer.stop - transfer.start))::float8 AS seconds
    FROM transfer
    LEFT JOIN LATERAL (
        SELECT id FROM worker WHERE cluster_id = %(cluster)s AND address = peer
        ORDER BY started DESC LIMIT 1) AS sender ON true
    WHERE transfer.cluster_id = %(cluster)s AND transfer.start < %(stop)s AND transfer.stop > %(start)s
        AND direction = 0 AND worker_id IS NOT NULL
    GROUP BY 1, 2 ORDER BY nbytes DESC"""
LOOPS: LiteralString = f"""
    SELECT frames, samples FROM (
        SELECT stack_id, sum(count)::bigint AS samples FROM profile
        WHERE {WITHIN} AND source = {SOURCES.index("event-loop")}
            AND coalesce(worker_id, 0) = ANY(%(workers)s)
        GROUP BY stack_id ORDER BY samples DESC LIMIT %(limit)s) AS counted
    JOIN stack ON stack.id = stack_id ORDER BY samples DESC"""

TASK_STACKS: LiteralString = f"""
    SELECT frames, samples FROM (
        SELECT stack_id, sum(count)::bigint AS samples FROM profile
        WHERE {WITHIN} AND source = {SOURCES.index("task")} AND prefix_id = ANY(%(prefixes)s)
        GROUP BY stack_id ORDER BY samples DESC LIMIT %(limit)s) AS counted
    JOIN stack ON stack.id = stack_id ORDER BY samples DESC"""


KEYS_OF_TASKS: LiteralString = f"""
    SELECT DISTINCT task, key_rest, name FROM (
        SELECT {TASK.format("transition")} AS task, key_rest, task_group.name
        FROM transition JOIN task_group ON task_group.id = group_id
        WHERE transition.{WITHIN} AND prefix_id = ANY(%(prefixes)s::int[])
        OFFSET 0) AS of_prefixes  -- no hash is computed of other tasks
    WHERE task = ANY(%(tasks)s::bigint[])"""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A worker that the scheduler didn't have in the window."""

    threads: int
    started: float
    """seconds"""


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """A worker's lifetime and how it ended. Times are seconds."""

    id: int
    name: str
    address: str
    threads: int
    memory_limit: int
    """bytes; 0: none"""
    resources: dict[str, float]
    host: str
    started: float
    ended: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The errors of one exception type, prefix and outcome; the rest is of the first."""

    exception_type: str
    prefix: int
    outcome: str
    count: int
    dependents: int
    """most tasks that failed because of one of them"""
    first: datetime
    message: str
    worker: int | None
    key: str
    workers: list[str]
    """addresses of those that failed or died with it"""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event; its time in seconds."""

    time: float
    kind: str
    worker: int | None
    detail: Any


@dataclass(frozen=True, slots=True)
class Pair:
    """What one worker received of another."""

    sender: int | None
    receiver: int
    count: int
    nbytes: float
    seconds: float


@dataclass(frozen=True, slots=True)
class KnownTask:
    key: str
    nbytes: int


def worker_ends(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[WorkerEnd]:
    """Return the workers that lived in [start, stop) (microseconds)."""
    with connection.cursor(row_factory=class_row(WorkerEnd)) as cursor:
        return cursor.execute(ENDS, window_parameters(cluster, start, stop)).fetchall()


def arrived_after(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[Arrival]:
    """Return the workers that arrived after [start, stop) (microseconds) and whose processes had begun in it.

    Without those that were there before, as a restarted one.
    """
    with connection.cursor(row_factory=class_row(Arrival)) as cursor:
        return cursor.execute(ARRIVED_AFTER, window_parameters(cluster, start, stop)).fetchall()


def failures(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, limit: int, others: OtherWork = NONE
) -> list[Failure]:
    """Return the errors of the window by exception type, prefix and outcome, in order of the first one."""
    parameters = {**window_parameters(cluster, start, stop), **others.parameters, "limit": limit}
    query = FAILURES.replace("{is_other}", others.includes("error"))
    rows = connection.execute(query, parameters).fetchall()
    return [
        Failure(type, prefix, outcome, count, most, first, message, worker, decode_key(rest, group), workers)
        for type, prefix, outcome, count, most, first, _, message, worker, rest, group, workers in rows
    ]


def happenings(
    connection: psycopg.Connection, cluster: int, kinds: Sequence[str], start: int, stop: int, limit: int
) -> list[Happening]:
    """Return the first `limit` events of the kinds."""
    with connection.cursor(row_factory=class_row(Happening)) as cursor:
        parameters = {**window_parameters(cluster, start, stop), "kinds": list(kinds), "limit": limit}
        return cursor.execute(EVENTS, parameters).fetchall()


def binned_series(
    connection: psycopg.Connection,
    cluster: int,
    metric: str,
    start: int,
    stop: int,
    value: str = "",
    function: str = "mean",
    label: str = "type",
) -> dict[str, Array]:
    """Return the mean, or the maximum (`function`), of a metric in BINS bins of equal width: columns of
    BIN_TYPES, by worker (0: none) and bin. Bins without samples are left out. `value`: of a label, where only
    series with it are wanted."""
    parameters = {
        **window_parameters(cluster, start, stop),
        "metric": metric,
        "value": value,
        "label": label,
        "function": function,
    }
    return fetch_columns(connection, SERIES, parameters, BIN_TYPES)


def binned_gpus(
    connection: psycopg.Connection, cluster: int, metric: str, start: int, stop: int, bins: int
) -> dict[str, Array]:
    """Return the mean and the greatest value of a metric of GPUs in `bins` bins of equal width: columns of
    GPU_TYPES, by worker, number of the GPU among those of the cluster, and bin. Empty bins are left out."""
    parameters = {
        **window_parameters(cluster, start, stop),
        "metric": metric,
        "bins": bins,
        "device": gpus.DEVICE,
    }
    return fetch_columns(connection, GPUS, parameters, GPU_TYPES)


def labelled_samples(
    connection: psycopg.Connection, cluster: int, metric: str, label: str, start: int, stop: int, limit: int
) -> list[tuple[str, float, float]]:
    """Return the first `limit` samples of a metric: the value of a label, time in seconds, value."""
    parameters = {
        **window_parameters(cluster, start, stop),
        "metric": metric,
        "label": label,
        "limit": limit,
    }
    return connection.execute(LABELLED, parameters).fetchall()


def known_tasks(
    connection: psycopg.Connection, cluster: int, lanes: Sequence[int], starts: Sequence[int]
) -> list[KnownTask]:
    """Return the key and the size of the result of the task that began on each lane at each time (µs)."""
    times = [from_microseconds(start) for start in starts]
    rows = connection.execute(TASKS, {"cluster": cluster, "lanes": list(lanes), "starts": times})
    return [KnownTask(decode_key(rest, group), nbytes) for rest, group, nbytes in rows.fetchall()]


def keys_of_tasks(
    connection: psycopg.Connection,
    cluster: int,
    tasks: Sequence[int],
    prefixes: Collection[int],
    start: int,
    stop: int,
) -> dict[int, str]:
    """Return the keys of tasks of prefixes that changed their state in the window, by the hash of the key.

    Where some did not, all that did in the day before.
    """
    found = _keys_of_tasks(connection, cluster, tasks, prefixes, start, stop)
    if set(tasks) <= found.keys():
        return found
    return found | _keys_of_tasks(connection, cluster, tasks, prefixes, max(0, start - EARLIER_WITHIN), start)


def _keys_of_tasks(
    connection: psycopg.Connection,
    cluster: int,
    tasks: Sequence[int],
    prefixes: Collection[int],
    start: int,
    stop: int,
) -> dict[int, str]:
    named = {"tasks": list(tasks), "prefixes": list(prefixes)}
    rows = connection.execute(KEYS_OF_TASKS, window_parameters(cluster, start, stop) | named)
    return {task: decode_key(rest, group) for task, rest, group in rows.fetchall()}


def usual_size(connection: psycopg.Connection, cluster: int, prefix: int, start: int, stop: int) -> float:
    """Return the median size of the results of a prefix, in bytes; 0: there are none."""
    parameters = {**window_parameters(cluster, start, stop), "prefix": prefix}
    [size] = connection.execute(SIZES, parameters).fetchone() or [None]
    return float(size or 0)


def transfer_pairs(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> list[Pair]:
    """Return what each worker received of each other, most bytes first."""
    with connection.cursor(row_factory=class_row(Pair)) as cursor:
        return cursor.execute(PAIRS, window_parameters(cluster, start, stop)).fetchall()


def loop_stacks(
    connection: psycopg.Connection, cluster: int, workers: Sequence[int], start: int, stop: int, limit: int
) -> list[tuple[str, int]]:
    """Return the frames and the counts of samples of workers' event loops (0: the scheduler), most first."""
    parameters = {**window_parameters(cluster, start, stop), "workers": list(workers), "limit": limit}
    return connection.execute(LOOPS, parameters).fetchall()


def task_stacks(
    connection: psycopg.Connection, cluster: int, prefixes: Sequence[int], start: int, stop: int, limit: int
) -> list[tuple[str, int]]:
    """Return the frames and the counts of samples of tasks of some prefixes, most first."""
    parameters = {**window_parameters(cluster, start, stop), "prefixes": list(prefixes), "limit": limit}
    return connection.execute(TASK_STACKS, parameters).fetchall()
