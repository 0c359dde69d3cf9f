"""The exact state of a cluster at a point in time: progress, tasks by state, workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.progress import (
    SCRAPED_COUNTS,
    TASK_COUNTS,
    Progress,
    listed_rows,
    polled_age,
    progress_at,
    rows,
    scraped_age,
    tasks_of,
)
from observatory.replay.scope import Scope
from observatory.store.queries import state as store
from observatory.store.queries.extents import SETTLING, Extent, read_extent
from observatory.store.queries.progress import agent_since
from observatory.store.queries.state import LastValues
from observatory.store.times import from_microseconds, seconds_to_microseconds, to_microseconds
from observatory.wire.clocks import heartbeat_interval

UNRUNNABLE = "observatory_cluster_unrunnable_tasks"
MEMORY, CPU, GIL = HEARTBEAT = (
    "observatory_worker_memory_bytes",
    "observatory_worker_cpu_percent",
    "observatory_worker_gil_contention_ratio",
)
MEMORY_KINDS = ("process", "managed", "unmanaged", "spilled")
GIL_CONTENTION = "dask_worker_gil_contention_seconds_total"
SAMPLED = (*HEARTBEAT, UNRUNNABLE, GIL_CONTENTION, TASK_COUNTS, SCRAPED_COUNTS)
"""metrics whose last samples before it make a state"""
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
    connection: psycopg.Connection, scope: Scope, at: int, before: Progress | None = None
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
        at = max(_newest_complete(connection, extent, polled_age(cluster), since), scope.start)
    last = min(at, scope.stop - 1)
    scraped = scraped_age(cluster)
    samples = store.last_values(connection, cluster.pk, (*HEARTBEAT, UNRUNNABLE), last, scraped, since)
    beats: dict[tuple[str, str], dict[int | None, float]] = {}
    for found in samples:
        beats.setdefault((found.metric, found.labels.get("type", "")), {}).update(found.values)
    contention = store.last_rates(connection, cluster.pk, GIL_CONTENTION, last, scraped, since)
    oldest_poll = from_microseconds(last) - timedelta(seconds=polled_age(cluster))
    executing = _executing(connection, scope, last) if _is_live_edge(cluster, last, extent) else {}
    now = _progress(connection, scope, at, extent, since)
    if before is None:
        before = progress_before(connection, scope)
    counted = rows(connection, cluster, now, before)
    progress, others = listed_rows(counted)
    tasks = tasks_of(connection, scope, now, before)
    if scope.pseudonyms is not None:
        progress = [{**row, "name": scope.text(row["name"])} for row in progress]
    workers = store.live_workers(connection, cluster.pk, last)
    heard = store.last_heard(connection, cluster.pk, last, since)
    silent = _silent(heard, now.sampled.at, len(workers))
    # the spans of what they run come when it has finished
    untold = silent if _is_live_edge(cluster, last, extent) else set()
    states = _worker_states(workers, scope, beats, contention, executing)
    return {
        "at": at / 1e6,
        "version": extent.version if extent else 1,
        "progress": progress,
        "other_progress": others,
        "progress_at": None if now.sampled_at is None else now.sampled_at / 1e6,
        "tasks": tasks.counts,
        "tasks_at": None if tasks.at is None else tasks.at / 1e6,
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
            "tasks": sum(row["done"] for row in counted),
            "seconds": sum(row["seconds"] for row in counted),
        },
    }


def tasks_until(connection: psycopg.Connection, scope: Scope, at: int) -> dict[str, int] | None:
    """Return how many tasks of the window were done, erred and left at `at` (µs), as its progress says.

    None: no agent told. Needs a snapshot.
    """
    extent = read_extent(connection, scope.cluster.pk)
    now = _progress(connection, scope, min(at, scope.stop), extent, 0)
    if not now.is_exact:
        return None
    found = rows(connection, scope.cluster, now, progress_before(connection, scope))
    done, erred, total = (sum(row[name] or 0 for row in found) for name in ("done", "erred", "total"))
    return {"done": done, "erred": erred, "left": total - done - erred}


def _silent(heard: Mapping[int, float], polled: int | None, workers: int) -> set[int]:
    """Return the workers without a heartbeat for long. `polled`: when the scheduler last answered (µs)."""
    if polled is None:
        return set()
    longest = max(SILENT, MISSED * heartbeat_interval(workers))
    return {worker for worker, time in heard.items() if polled / 1e6 - time > longest}


def progress_before(connection: psycopg.Connection, scope: Scope) -> Progress | None:
    """Return what was known at the start of a window; None: the scope has none. Needs a snapshot."""
    if not scope.start:
        return None
    samples = task_counts(connection, scope, scope.start)
    return progress_at(connection, scope.cluster, scope.start, samples)


def _progress(
    connection: psycopg.Connection, scope: Scope, at: int, extent: Extent | None, since: int
) -> Progress:
    """Return what is known at `at` (microseconds); after the end of a cluster, what was known at its end."""
    if extent is not None and not scope.cluster.is_live:
        at = min(at, seconds_to_microseconds(extent.last))
    return progress_at(connection, scope.cluster, at, task_counts(connection, scope, at, since))


def _is_incomplete(cluster: Cluster, extent: Extent, at: int) -> bool:
    """Return whether records of times until `at` can be on their way."""
    return cluster.is_live and extent.committed > extent.first and at / 1e6 > extent.committed


def _newest_complete(connection: psycopg.Connection, extent: Extent, max_age: float, since: int) -> int:
    """Return the newest time (microseconds) whose tasks are known and that has all of its records."""
    at = seconds_to_microseconds(extent.committed)
    if agent_since(connection, extent.cluster) is not None:
        return at
    counts = store.last_samples(connection, extent.cluster, (TASK_COUNTS,), at, max_age, since)
    return max((to_microseconds(sample.time) for sample in counts), default=at)


def task_counts(connection: psycopg.Connection, scope: Scope, at: int, since: int = 0) -> list[LastValues]:
    """Return the last counts of tasks by state before `at` (microseconds)."""
    metrics = (TASK_COUNTS, SCRAPED_COUNTS)
    return store.last_values(connection, scope.cluster.pk, metrics, at, scraped_age(scope.cluster), since)


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
