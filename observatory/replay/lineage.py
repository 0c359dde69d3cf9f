"""The lineage of a task: what it was made of, what was made of it, and how it moved between workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.archive.scans.conditions import Condition, with_key
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
from observatory.store.reading.scanning import scanned
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
    keys = find_keys(connection, window.cluster, key)
    if scope.text(key) != key:
        return _nothing(scope.text(key))
    of_key, edges = with_key([key]), with_key([key], ("key", "depends_on"))
    with scanned(connection, window.cluster, {"span": of_key, "steal": of_key, "dependency": edges}):
        spans = store.spans_of_task(connection, window, keys, MAXIMUM_ATTEMPTS)
        if not spans and not scope.is_whole:
            return _nothing(key)
        neighbours = {
            direction: store.neighbours(connection, window.cluster, keys, direction, MAXIMUM_TASKS)
            for direction in Direction
        }
        transfers = _transfers(connection, window, keys)
        steals = moves.steals_of_task(connection, window, keys, MAXIMUM_ATTEMPTS)
    first, last = (spans[-1].start, spans[-1].stop) if spans else (MAXIMUM_TIME / 1e6, 0.0)
    near = {Direction.DEPENDENCIES: first, Direction.DEPENDENTS: last}
    dependencies, dependents = (
        _neighbours(connection, scope, window, keys, direction, listed, near[direction])
        for direction, listed in neighbours.items()
    )
    return {
        "key": key,
        "prefix": spans[0].prefix if spans else None,
        "spans": [_span(scope, span) for span in spans],
        "dependencies": dependencies,
        "dependents": dependents,
        "transfers": [_transfer(scope, found) for found in transfers],
        "steals": [asdict(steal) for steal in steals],
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
    listed: Sequence[Neighbour],
    near: float,
) -> Item:
    """Return those that computed nearest to `near` (seconds); in a whole cluster then those that did not."""
    total = listed[0].total if listed else 0
    if total > MAXIMUM_TASKS:
        spans = store.spans_of_all(connection, window, keys, direction, near, MAXIMUM_SPANS)
    elif listed:
        of_tasks = with_key(task.key for task in listed)
        with scanned(connection, window.cluster, {"span": of_tasks}):
            spans = store.spans_of_few(connection, window, listed, near, MAXIMUM_SPANS)
    else:
        spans = []
    if not scope.is_whole:
        listed, total = [], spans[0].tasks if spans else 0
    return {"total": total, "tasks": _tasks(scope, spans, listed)}


def _transfers(
    connection: psycopg.Connection, window: ClusterWindow, keys: StoredKeys
) -> list[TransferOfTask]:
    """The transfers that the task's spans show, which are of the same time."""
    times = moves.times_of_transfers(connection, window, keys)
    if times is None:
        return []
    nearly = Condition((), times[0] - moves.NEARLY, times[1] + 2 * moves.NEARLY)
    with scanned(connection, window.cluster, {"transfer": nearly}):
        return moves.transfers_of_task(connection, window, keys, MAXIMUM_ATTEMPTS)


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
