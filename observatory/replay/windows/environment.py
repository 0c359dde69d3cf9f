"""The machines, versions and surroundings of a window's scheduler and workers, and where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.worker_facts import (
    SOFTWARE,
    Fact,
    facts_of,
    facts_of_process,
    facts_of_scheduler,
    is_described,
    is_resource,
)
from observatory.store.queries.windows.workers.environment import (
    client_detail_of_run,
    last_client_detail,
    scheduler_detail,
    worker_specs,
)
from observatory.store.times import from_microseconds

MOST_FACTS = 1_000
MOST_VALUES = 20
"""of a fact"""
MOST_WORKERS = 50
"""that are named with a value"""
LONGEST = 300
SHARED = frozenset({("hardware", "threads of a worker"), ("hardware", "memory limit of a worker (bytes)")})
"""what a public link tells; the list of its workers has it as well"""

Item = dict[str, Any]


def environment_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's environment of the workers with a lifetime in [after, before) (microseconds)."""
    start, stop = (from_microseconds(time) for time in (max(after, scope.start), min(before, scope.stop)))
    workers = worker_specs(connection, scope.cluster.pk, start, stop)
    values: defaultdict[tuple[str, str], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for worker in workers:
        for kind, name, value in facts_of(worker):
            values[kind, name][value[:LONGEST]].append(worker.id)
    stop_of_scope = from_microseconds(scope.stop)
    schedulers, clients = (
        ({}, {})
        if scope.is_public
        else (
            _by_name(facts_of_scheduler(scheduler_detail(connection, scope.cluster.pk, stop_of_scope))),
            _by_name(
                fact
                for fact in facts_of_process(_client_detail(connection, scope, stop))
                if fact[0] in SOFTWARE
            ),
        )
    )
    keys = sorted({*values, *schedulers, *clients})
    reporting = {
        is_all: {worker.id for worker in workers if is_all or is_described(worker.detail)}
        for is_all in (True, False)
    }
    shown = [key for key in keys if not scope.is_public or key in SHARED][:MOST_FACTS]
    return {
        "workers": len(workers),
        "is_hidden": scope.is_public,
        "facts": [
            _fact(key, values[key], schedulers.get(key), clients.get(key), reporting[is_resource(key)])
            for key in shown
        ],
    }


def _client_detail(connection: psycopg.Connection, scope: Scope, stop: datetime) -> dict[str, Any]:
    """Return what the client of the scope's run told of its process; of other scopes the last client."""
    if scope.opened_as is None:
        return last_client_detail(connection, scope.cluster.pk, stop)
    start = from_microseconds(scope.start)
    return client_detail_of_run(connection, scope.cluster.pk, scope.opened_as, start)


def _by_name(facts: Iterable[Fact]) -> dict[tuple[str, str], str]:
    return {(kind, name): value[:LONGEST] for kind, name, value in facts}


def _fact(
    key: tuple[str, str],
    values: dict[str, list[int]],
    scheduler: str | None,
    client: str | None,
    reporting: set[int],
) -> Item:
    """Return a fact with the workers of each value, the most frequent value first.

    `reporting`: the workers that would have reported it.
    """
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    kind, name = key
    lacking = reporting.difference(*values.values())
    others = {one for one in (scheduler, client) if one is not None} if kind in SOFTWARE else set()
    known = {*values, *others}
    return {
        "kind": kind,
        "name": name,
        "differs": len(known) > 1 or bool(lacking and values),
        "scheduler": scheduler,
        "client": client,
        "values": [
            {"value": value, "count": len(ids), "workers": ids[:MOST_WORKERS]}
            for value, ids in ordered[:MOST_VALUES]
        ],
        "more_values": max(0, len(ordered) - MOST_VALUES),
    }
