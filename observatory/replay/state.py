"""The exact state of a cluster at a point in time: progress, tasks by state, workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.store.colors import color_of
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.queries import state as store
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.queries.state import LastValues
from observatory.store.times import from_microseconds, seconds_to_microseconds, to_microseconds
from observatory.wire.clocks import heartbeat_interval
from observatory.wire.metrics import computed_tasks
from observatory.wire.records import UNFINISHED_STATES

TASK_COUNTS, SCRAPED_COUNTS = "observatory_cluster_tasks", "dask_scheduler_tasks"
UNRUNNABLE = "observatory_cluster_unrunnable_tasks"
MEMORY, CPU, GIL = HEARTBEAT = (
    "observatory_worker_memory_bytes",
    "observatory_worker_cpu_percent",
    "observatory_worker_gil_contention_ratio",
)
MEMORY_KINDS = ("process", "managed", "unmanaged", "spilled")
MAXIMUM_AGE = 3.5
"""sampling intervals after which a sample is too old"""
GIL_CONTENTION = "dask_worker_gil_contention_seconds_total"
EXECUTING = ("observatory_worker_tasks", "dask_worker_tasks")
PROCESSING = "observatory_worker_processing_tasks"
"""tasks assigned to a worker, sampled each second by agents; at most so many are executing"""
RECENT = 1.5
"""sampling intervals; idle workers report no number of executing tasks, so an older one may be outdated"""

SILENT, MISSED = 5.0, 4
"""a worker is silent if its last heartbeat is so many seconds old, and so many heartbeats are missing"""

Values = Mapping[int | None, float]
"""of a metric, by worker"""


def state_at(
    connection: psycopg.Connection, scope: Scope, at: int, before: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the API's state object at `at` (microseconds on the scheduler's clock). Needs a snapshot.

    While the cluster is live and records until `at` are on their way, it is the state of the newest time of
    which everything is known: the `at` of the result.
    For a window, `at` is clamped to it, and progress counts from its start. What starts at the window's stop
    is left out. A public scope uses no samples from before its window.
    `before`: what `progress_before` returned, where many states of a window are read.
    """
    cluster = scope.cluster
    extent = read_extent(connection, cluster.pk)
    since = scope.start if scope.is_public else 0
    at = min(max(at, scope.start), scope.stop)
    if extent is not None and _is_incomplete(cluster, extent, at):
        at = max(_newest_complete(connection, extent, _polled_age(cluster), since), scope.start)
    last = min(at, scope.stop - 1)
    scraped = _scraped_age(cluster)
    metrics = (*HEARTBEAT, TASK_COUNTS, SCRAPED_COUNTS, UNRUNNABLE)
    samples = store.last_values(connection, cluster.pk, metrics, last, scraped, since)
    beats: dict[tuple[str, str], dict[int | None, float]] = {}
    for found in samples:
        beats.setdefault((found.metric, found.labels.get("type", "")), {}).update(found.values)
    contention = store.last_rates(connection, cluster.pk, GIL_CONTENTION, last, scraped, since)
    oldest_poll = from_microseconds(last) - timedelta(seconds=_polled_age(cluster))
    counts, scrapes = _task_counts(samples, oldest_poll)
    tasks = _tasks(counts, scrapes)
    executing = _executing(connection, scope, last) if _is_live_edge(cluster, last, extent) else {}
    progress = _progress(connection, cluster, at, tasks)
    if scope.start:
        earlier = progress_before(connection, scope) if before is None else before
        progress = list(_difference_since(earlier, progress))
    if scope.pseudonyms is not None:
        progress = [{**row, "name": scope.text(row["name"])} for row in progress]
    workers = store.live_workers(connection, cluster.pk, last)
    counted_at = max((sample.time.timestamp() for sample in counts or scrapes), default=None)
    heard = store.last_heard(connection, cluster.pk, last, since)
    silent = _silent(heard, counted_at, len(workers))
    # the spans of what they run come when it has finished
    untold = silent if _is_live_edge(cluster, last, extent) else set()
    states = _worker_states(workers, scope, beats, contention, executing)
    return {
        "at": at / 1e6,
        "version": extent.version if extent else 1,
        "progress": progress,
        "tasks": tasks,
        "tasks_at": counted_at,
        "unrunnable": {
            scope.text(found.labels.get("reason", "")): int(found.values[None])
            for found in samples
            if found.metric == UNRUNNABLE and found.time >= oldest_poll and found.values.get(None)
        },
        "workers": [
            {
                **state,
                "heard": heard.get(state["id"]),
                "is_silent": state["id"] in silent,
                "running": (state["running"] or None) if state["id"] in untold else state["running"],
            }
            for state in states
        ],
        "totals": {
            "workers": len(workers),
            "threads": sum(worker.nthreads for worker in workers),
            "tasks": sum(row["done"] for row in progress),
            "seconds": sum(row["seconds"] for row in progress),
        },
    }


def _silent(heard: Mapping[int, float], polled: float | None, workers: int) -> set[int]:
    """Return the workers without a heartbeat for long. `polled`: when the scheduler last answered."""
    if polled is None:
        return set()
    longest = max(SILENT, MISSED * heartbeat_interval(workers))
    return {worker for worker, time in heard.items() if polled - time > longest}


def progress_before(connection: psycopg.Connection, scope: Scope) -> list[dict[str, Any]]:
    """Return the progress that the cluster had made at the start of a window. Needs a snapshot."""
    if not scope.start:
        return []
    metrics = (TASK_COUNTS, SCRAPED_COUNTS)
    max_age = _scraped_age(scope.cluster)
    samples = store.last_values(connection, scope.cluster.pk, metrics, scope.start, max_age)
    oldest_poll = from_microseconds(scope.start) - timedelta(seconds=_polled_age(scope.cluster))
    tasks = _tasks(*_task_counts(samples, oldest_poll))
    return _progress(connection, scope.cluster, scope.start, tasks)


def _is_incomplete(cluster: Cluster, extent: Extent, at: int) -> bool:
    """Return whether records of times until `at` can be on their way."""
    return cluster.is_live and extent.committed > extent.first and at / 1e6 > extent.committed


def _newest_complete(connection: psycopg.Connection, extent: Extent, max_age: float, since: int) -> int:
    """Return the newest time (microseconds) whose tasks were counted and that has all of its records."""
    at = seconds_to_microseconds(extent.committed)
    counts = store.last_samples(connection, extent.cluster, (TASK_COUNTS,), at, max_age, since)
    return max((to_microseconds(sample.time) for sample in counts), default=at)


def _difference_since(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return the progress between two times, for prefixes that made any."""
    earlier = {row["name"]: row for row in before}
    for row in now:
        old = earlier.get(row["name"])
        if old is not None:
            grown = {
                name: _difference(row[name], old[name]) for name in ("done", "total", "erred", "seconds")
            }
            row = {**row, **grown}
            if row["total"] is not None:
                row["total"] = max(row["total"], row["done"] + (row["erred"] or 0))
        if row["done"] or row["erred"] or (old is None and row["total"]):
            yield row


def _difference(now: float | None, before: float | None) -> float | None:
    return None if now is None else max(0, now - (before or 0))


def _progress(
    connection: psycopg.Connection, cluster: Cluster, at: int, tasks: dict[str, int]
) -> list[dict[str, Any]]:
    """Return one row per prefix. A task computed twice counts twice, in `done` and in `total`.

    Spans are missing where nothing was recorded; the scheduler's own counts include those tasks.
    `tasks`: the number of tasks by state at that time.
    """
    counted = store.prefix_counts(connection, cluster.pk, at)
    unfinished = _unfinished(tasks)
    rows = []
    for prefix in store.prefix_progress(connection, cluster.pk, at):
        counts = counted.pop(prefix.name, None)
        rows.append(
            _row(prefix.prefix, prefix.name, prefix.color, prefix.tasks, prefix.seconds, counts, unfinished)
        )
    rows += [
        _row(-1, name, color_of(name), 0, 0.0, counts, unfinished) for name, counts in counted.items() if name
    ]
    return [row for row in rows if row["done"] or row["total"] or row["erred"]]


def _unfinished(tasks: dict[str, int]) -> int | None:
    """Return how many tasks are to be computed; None if their numbers aren't known."""
    if "waiting" not in tasks or "processing" not in tasks:
        return None
    return sum(tasks.get(state, 0) for state in UNFINISHED_STATES)


def _row(
    prefix: int,
    name: str,
    color: str,
    done: int,
    seconds: float,
    counts: dict[str, int] | None,
    unfinished: int | None,
) -> dict[str, Any]:
    erred = total = None
    if counts is not None:
        erred = counts.get("erred", 0)
        done = max(done, int(computed_tasks(counts)))
        # tasks that were cancelled, or sent to another worker, entered `waiting` and were not computed
        more = max(0, counts.get("waiting", 0) - done - erred)
        total = done + erred + (more if unfinished is None else min(more, unfinished))
    return {
        "prefix": prefix,
        "name": name,
        "color": color,
        "done": done,
        "total": total,
        "erred": erred,
        "seconds": seconds,
    }


def _task_counts(samples: list[LastValues], oldest: datetime) -> tuple[list[LastValues], list[LastValues]]:
    """Return the last polled numbers of tasks by state, since `oldest`, and the last scraped ones."""
    polled = [sample for sample in samples if sample.metric == TASK_COUNTS and sample.time >= oldest]
    return polled, [sample for sample in samples if sample.metric == SCRAPED_COUNTS]


def _polled_age(cluster: Cluster) -> float:
    """Seconds after which a sample of a poll is too old."""
    return MAXIMUM_AGE * cluster.identity_interval


def _scraped_age(cluster: Cluster) -> float:
    """Seconds after which a sample of a scrape is too old, or one that comes by polls or by scrapes."""
    return MAXIMUM_AGE * max(cluster.identity_interval, cluster.metrics_interval)


def _tasks(counts: list[LastValues], scrapes: list[LastValues]) -> dict[str, int]:
    """Return tasks by state, from polled counts, and from scraped metrics where those have none (queued)."""
    return {found.labels.get("state", ""): int(found.values.get(None, 0)) for found in (*scrapes, *counts)}


def _is_live_edge(cluster: Cluster, at: int, extent: Extent | None) -> bool:
    """Return whether the spans of what is computed at `at` have not arrived yet."""
    return cluster.is_live and at / 1e6 >= (extent.committed if extent else 0.0) - SETTLING


def _executing(connection: psycopg.Connection, scope: Scope, at: int) -> dict[int, int]:
    """Return the reported number of executing tasks by worker, for the live edge."""
    cluster = scope.cluster
    recent = RECENT * max(cluster.identity_interval, cluster.metrics_interval)
    since = scope.start if scope.is_public else 0
    samples = store.last_values(connection, cluster.pk, (*EXECUTING, PROCESSING), at, recent, since)
    given = {
        worker: value
        for found in samples
        if found.metric == PROCESSING
        for worker, value in found.values.items()
    }
    return {
        worker: int(min(value, given.get(worker, value)))
        for found in samples
        if found.labels.get("state") == "executing"
        for worker, value in found.values.items()
        if worker is not None
    }


def _worker_states(
    workers: list[store.LiveWorker],
    scope: Scope,
    beats: Mapping[tuple[str, str], Values],
    contention: dict[int, float],
    executing: dict[int, int],
) -> Iterator[dict[str, Any]]:
    none: Values = {}
    process, managed, unmanaged, spilled = (beats.get((MEMORY, kind), none) for kind in MEMORY_KINDS)
    cpu, gil = beats.get((CPU, ""), none), beats.get((GIL, ""), none)
    for worker in workers:
        id = worker.id
        yield {
            "id": id,
            "status": worker.status if scope.has_final_status(worker.ended) else "running",
            "cpu": cpu.get(id),
            "memory": process.get(id),
            "managed": managed.get(id),
            "unmanaged": unmanaged.get(id),
            "spilled": spilled.get(id),
            "limit": worker.memory_limit,
            "gil": contention.get(id, gil.get(id)),
            "running": max(worker.running, executing.get(id, 0)),
        }
