"""The machines, versions and surroundings of a window's scheduler and workers, and where they differ."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.worker_facts import facts_of, facts_of_process, is_described, is_resource
from observatory.store.queries.windows.environment import scheduler_detail, worker_specs
from observatory.store.times import from_microseconds

MOST_FACTS = 1_000
MOST_VALUES = 20
"""of a fact"""
MOST_WORKERS = 50
"""that are named with a value"""
LONGEST = 300
SHARED = frozenset({("hardware", "threads of a worker"), ("hardware", "memory limit of a worker (bytes)")})
"""what a public link tells; the list of its workers has it as well"""
SCHEDULERS = {"dask": "dask", "distributed": "distributed"}
"""versions in the event of the scheduler's agent"""

Item = dict[str, Any]


def environment_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's environment of the workers with a lifetime in [after, before) (microseconds)."""
    start, stop = (from_microseconds(time) for time in (max(after, scope.start), min(before, scope.stop)))
    workers = worker_specs(connection, scope.cluster.pk, start, stop)
    values: defaultdict[tuple[str, str], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for worker in workers:
        for kind, name, value in facts_of(worker):
            values[kind, name][value[:LONGEST]].append(worker.id)
    schedulers = {} if scope.is_public else _of_scheduler(connection, scope)
    keys = sorted({*values, *schedulers})
    told = {
        is_all: {worker.id for worker in workers if is_all or is_described(worker.detail)}
        for is_all in (True, False)
    }
    shown = [key for key in keys if not scope.is_public or key in SHARED][:MOST_FACTS]
    return {
        "workers": len(workers),
        "is_hidden": scope.is_public,
        "facts": [_fact(key, values[key], schedulers.get(key), told[is_resource(key)]) for key in shown],
    }


def _of_scheduler(connection: psycopg.Connection, scope: Scope) -> dict[tuple[str, str], str]:
    detail = scheduler_detail(connection, scope.cluster.pk, from_microseconds(scope.stop))
    versions = {name: detail[key] for key, name in SCHEDULERS.items() if key in detail}
    facts = facts_of_process({**detail, "versions": versions})
    return {(kind, name): value[:LONGEST] for kind, name, value in facts}


def _fact(key: tuple[str, str], values: dict[str, list[int]], scheduler: str | None, told: set[int]) -> Item:
    """Return a fact with the workers of each value, the most frequent value first.

    `told`: the workers that would have told it.
    """
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    kind, name = key
    lacking = told.difference(*values.values())
    known = {*values} if scheduler is None else {*values, scheduler}
    return {
        "kind": kind,
        "name": name,
        "differs": len(known) > 1 or bool(lacking and values),
        "scheduler": scheduler,
        "values": [
            {"value": value, "count": len(ids), "workers": ids[:MOST_WORKERS]}
            for value, ids in ordered[:MOST_VALUES]
        ],
        "more_values": max(0, len(ordered) - MOST_VALUES),
    }
