"""The lineage of a task: what it was made of, what was made of it, and how it moved between workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.keys import StoredKeys, find_keys
from observatory.store.queries.tasks import lineage as store
from observatory.store.queries.tasks import moves
from observatory.store.queries.tasks.lineage import (
    ClusterWindow,
    ComputedSpan,
    Direction,
    Neighbour,
    NeighbourSpan,
)
from observatory.store.queries.tasks.moves import TransferOfTask
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.records import clean_key

MAXIMUM_TASKS = 200
"""neighbours in one direction that are listed"""
MAXIMUM_SPANS = 1_000
"""of the neighbours in one direction"""
MAXIMUM_ATTEMPTS = 20
"""computing spans, transfers or steals of one task"""
MAXIMUM_KEYS = 20
"""of a transfer"""

MAXIMUM_STOLEN = 1_000
"""stolen tasks in one answer"""

Item = dict[str, Any]


def lineage_of(connection: psycopg.Connection, scope: Scope, key: str) -> Item:
    """Return the API's lineage of a task. The connection must be in a snapshot.

    A window's has only tasks that computed in it. A key that the scope shows changed is not found: what is
    hidden could be guessed.
    """
    key = clean_key(key)
    window = ClusterWindow(scope.cluster.pk, *scope.window)
    is_shown = scope.text(key) == key
    keys = find_keys(connection, window.cluster, key)
    spans = store.spans_of_task(connection, window, keys, MAXIMUM_ATTEMPTS) if is_shown else []
    if not is_shown or (not spans and not scope.is_whole):
        return _nothing(scope.text(key))
    first, last = (spans[-1].start, spans[-1].stop) if spans else (MAXIMUM_TIME / 1e6, 0.0)
    return {
        "key": key,
        "prefix": spans[0].prefix if spans else None,
        "spans": [_span(scope, span) for span in spans],
        "dependencies": _neighbours(connection, scope, window, keys, Direction.DEPENDENCIES, first),
        "dependents": _neighbours(connection, scope, window, keys, Direction.DEPENDENTS, last),
        "transfers": [
            _transfer(scope, found)
            for found in moves.transfers_of_task(connection, window, keys, MAXIMUM_ATTEMPTS)
        ],
        "steals": [
            asdict(steal) for steal in moves.steals_of_task(connection, window, keys, MAXIMUM_ATTEMPTS)
        ],
    }


def _nothing(key: str) -> Item:
    tasks: Item = {"total": 0, "tasks": []}
    return {
        "key": key,
        "prefix": None,
        "spans": [],
        "dependencies": tasks,
        "dependents": tasks,
        "transfers": [],
        "steals": [],
    }


def stolen_tasks(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's stolen tasks of [after, before) (microseconds) in the scope's window."""
    start = max(after, scope.start)
    window = ClusterWindow(scope.cluster.pk, start, max(start, min(before, scope.stop)))
    found = moves.stolen_tasks(connection, window, MAXIMUM_STOLEN)
    tasks = [
        {
            "key": scope.text(task.key),
            "prefix": task.prefix,
            "time": task.time,
            "victim": task.victim,
            "thief": task.thief,
        }
        for task in found
    ]
    return {"total": found[0].total if found else 0, "tasks": tasks}


def _neighbours(
    connection: psycopg.Connection,
    scope: Scope,
    window: ClusterWindow,
    keys: StoredKeys,
    direction: Direction,
    near: float,
) -> Item:
    """Return those that computed nearest to `near` (seconds); in a whole cluster then those that did not."""
    listed = store.neighbours(connection, window.cluster, keys, direction, MAXIMUM_TASKS)
    total = listed[0].total if listed else 0
    if total <= MAXIMUM_TASKS:
        spans = store.spans_of_few(connection, window, listed, near, MAXIMUM_SPANS) if listed else []
    else:
        spans = store.spans_of_all(connection, window, keys, direction, near, MAXIMUM_SPANS)
    if not scope.is_whole:
        listed, total = [], spans[0].tasks if spans else 0
    return {"total": total, "tasks": _tasks(scope, spans, listed)}


def _tasks(scope: Scope, spans: Sequence[NeighbourSpan], others: Sequence[Neighbour]) -> list[Item]:
    tasks: dict[str, Item] = {}
    for span in spans:
        task = tasks.setdefault(span.key, {"key": scope.text(span.key), "prefix": span.prefix, "spans": []})
        if len(task["spans"]) < MAXIMUM_ATTEMPTS:
            task["spans"].append(_span(scope, span))
    for other in others:
        tasks.setdefault(other.key, {"key": scope.text(other.key), "prefix": other.prefix, "spans": []})
    return list(tasks.values())[:MAXIMUM_TASKS]


def _transfer(scope: Scope, transfer: TransferOfTask) -> Item:
    sizes = [(key, size if isinstance(size, (int, float)) else None) for key, size in transfer.keys.items()]
    return {
        **_span(scope, transfer),
        "peer": transfer.peer,
        "nbytes": transfer.nbytes,
        "count": transfer.count,
        "keys": [{"key": scope.text(key), "nbytes": size} for key, size in sizes[:MAXIMUM_KEYS]],
    }


def _span(scope: Scope, span: ComputedSpan | TransferOfTask) -> Item:
    start, stop = scope.clip_seconds(span.start, span.stop)
    return {"lane": span.lane, "start": start, "stop": stop}
