"""What stands out in a window: the workers, hosts and tasks with the greatest figures."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.stragglers import FENCE, FEWEST, LEAST_EXCESS, RATIO, SHORTEST, WIDEST
from observatory.replay.windows.sums import recorded_part
from observatory.replay.windows.transfers import received_bytes
from observatory.replay.windows.work import Work, work_of_tiles
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows import outliers as store
from observatory.store.queries.windows import row_counts

MOST_OUTLIERS = 10
"""that are named for each figure"""
FEW_SPANS = 20_000
"""of a window whose spans are all read; of a larger one tiles say how long workers computed"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures by worker."""

    computing: Mapping[int, store.Computing]
    others: Mapping[str, store.Figures]

    def of(self, workers: list[int]) -> dict[str, float | None]:
        """Return the figures of workers together; None where a figure is unknown."""
        known = [self.computing[worker] for worker in workers if worker in self.computing]
        usual = sum(one.usual for one in known)
        found: dict[str, float | None] = {
            "duration_ratio": sum(one.seconds for one in known) / usual if usual > 0 else None
        }
        for name, by_worker in self.others.items():
            values = [by_worker[worker] for worker in workers if worker in by_worker]
            found[name] = sum(values) if values else None
        return found

    def workers(self) -> set[int]:
        return {*self.computing, *(worker for by_worker in self.others.values() for worker in by_worker)}


def outliers_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> dict[str, Any]:
    """Return the workers, hosts and tasks that stand out in [after, before) (microseconds)."""
    start, stop = recorded_part(connection, scope, after, before)
    if start >= stop:
        return _NONE
    window = (connection, scope.cluster.pk, start, stop)
    work = (
        work_of_tiles(connection, scope, start, stop)
        if row_counts.has_more_spans(*window, None, FEW_SPANS)
        else None
    )
    received = received_bytes(connection, scope, start, stop)
    with snapshot(connection):
        found = Figures(
            {one.worker: one for one in (work.computing if work else store.computing(*window))},
            {
                "errors": store.error_counts(*window),
                "memory_slope": store.memory_slopes(*window),
                "paused": store.paused_seconds(*window),
                "received": received,
            },
        )
        hosts = store.hosts(connection, scope.cluster.pk)
        tasks = _tasks(window, work)
    return {
        "workers": _greatest({worker: found.of([worker]) for worker in found.workers()}, "worker"),
        "hosts": _hosts(found, hosts, scope),
        "tasks": [_task(task, scope) for task in tasks],
    }


_NONE: dict[str, Any] = {"workers": [], "hosts": [], "tasks": []}


def _greatest(figures: Mapping[Any, Mapping[str, float | None]], word: str) -> list[dict[str, Any]]:
    """Return the rows that are among the MOST_OUTLIERS of a figure."""
    named = set()
    for name in next(iter(figures.values()), ()):
        positive = {
            one: value for one, its in figures.items() if (value := its[name]) is not None and value > 0
        }
        named |= set(heapq.nlargest(MOST_OUTLIERS, positive, key=positive.__getitem__))
    return [{word: one, **figures[one]} for one in sorted(named)]


def _hosts(found: Figures, hosts: Mapping[int, str], scope: Scope) -> list[dict[str, Any]]:
    by_host: dict[str, list[int]] = defaultdict(list)
    for worker in found.workers():
        by_host[hosts[worker]].append(worker)
    if len(by_host) < 2:
        return []
    rows = _greatest({host: found.of(workers) for host, workers in by_host.items()}, "host")
    shown = scope.pseudonyms.hosts if scope.pseudonyms is not None else None
    return [
        {
            **row,
            "host": row["host"] if shown is None else shown.get(row["host"], "host"),
            "workers": len(by_host[row["host"]]),
        }
        for row in rows
    ]


def _tasks(window: tuple[psycopg.Connection, int, int, int], work: Work | None) -> list[store.LongTask]:
    """Return the stragglers that took longest beyond the median; of a large window what tiles lead to."""
    if work is None:
        return store.stragglers(*window, RATIO, LEAST_EXCESS, FENCE, WIDEST, SHORTEST, FEWEST, MOST_OUTLIERS)
    connection, cluster, *_ = window
    found: dict[tuple[int, str], store.LongTask] = {}
    for place in work.longest(RATIO, LEAST_EXCESS, FEWEST):
        if any(task.worker == place.worker and task.start < place.stop / 1e6 and task.stop > place.start / 1e6
               for task in found.values()):  # fmt: skip
            continue
        of = (place.worker, place.prefix, place.longest, place.usual)
        task = store.longest_task(connection, cluster, place.start, place.stop, *of)
        if task is not None and task.seconds >= max(RATIO * task.usual, task.usual + LEAST_EXCESS):
            found[task.lane, task.key] = task
        if len(found) == MOST_OUTLIERS:
            break
    return sorted(found.values(), key=lambda task: task.usual - task.seconds)


def _task(task: store.LongTask, scope: Scope) -> dict[str, Any]:
    start, stop = scope.clip_seconds(task.start, task.stop)
    return {
        "key": scope.text(task.key),
        "prefix": task.prefix,
        "worker": task.worker,
        "lane": task.lane,
        "start": start,
        "stop": stop,
        "ratio": (stop - start) / task.usual,
    }
