"""The results that were in memory at a point in time: their keys, sizes and workers, the largest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.store.keys import decode_key
from observatory.store.maintenance.result_keyframes import (
    Result,
    ResultId,
    make_result_keyframes,
    results_at,
)
from observatory.store.queries.extents import SETTLING, read_extent
from observatory.store.queries.tasks import results as store
from observatory.wire.clocks import TOLERANCE

MOST_RESULTS = 500
"""that are listed"""
UNKNOWN = -1
"""orders results of unknown size after all others"""

Item = dict[str, Any]
Found = list[tuple[ResultId, Result]]


def results_of(
    connection: psycopg.Connection, scope: Scope, at: int, text: str = "", worker: int | None = None
) -> Item:
    """Return the API's results in memory at `at` (microseconds), clamped to the scope and what is recorded.

    `text`: what keys have to contain; `worker`: id of the one that has to have made them. A public scope
    has no results from before its window.
    """
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None or not extent.first:
        return _answer(at, [], 0, [], [], [])
    at = max(scope.start, min(at, scope.stop - 1, round(extent.last * 1e6)))
    make_result_keyframes(connection, extent, min(at, round((extent.committed - SETTLING) * 1e6)))
    held = results_at(connection, scope.cluster.pk, at)
    since = scope.start if scope.is_public else 0
    all = [(id, result) for id, result in held.named.items() if result.since >= since]
    found = all if worker is None else [item for item in all if item[1].worker == worker]
    if text:
        keys = _keys(connection, scope, found)
        found = [item for item in found if text.lower() in keys[item[0]][0].lower()]
    found.sort(key=lambda item: (-_size(item), item[1].since, item[0]))
    shown = found[:MOST_RESULTS]
    alive = store.workers_alive(connection, scope.cluster.pk, at)
    unnamed = 0 if scope.is_public else held.unnamed
    spilling_unknown = [id for id, reports in alive.items() if not reports and worker in (None, id)]
    return _answer(at, all, unnamed, found, _listed(connection, scope, shown, alive, at), spilling_unknown)


def _answer(
    at: int, all: Found, unnamed: int, found: Found, listed: list[Item], spilling_unknown: list[int]
) -> Item:
    return {
        "at": at / 1e6,
        "total": _totals(all),
        "unnamed": unnamed,
        "found": _totals(found),
        "results": listed,
        "spilling_unknown": spilling_unknown,
    }


def _listed(
    connection: psycopg.Connection, scope: Scope, shown: Found, alive: Collection[int], at: int
) -> list[Item]:
    keys = _keys(connection, scope, shown)
    since = min((result.since for _, result in shown), default=at) - round(TOLERANCE * 1e6)
    spilled = store.on_disk(connection, scope.cluster.pk, list(keys), since, at)
    return [
        {
            "key": keys[id][0],
            "prefix": keys[id][1],
            "worker": result.worker if result.worker in alive else None,
            "nbytes": result.nbytes,
            "since": result.since / 1e6,
            "spilled": [
                {"worker": worker, "nbytes": nbytes}
                for worker, nbytes in spilled.get(id, {}).items()
                if worker in alive
            ],
        }
        for id, result in shown
    ]


def _totals(found: Found) -> Item:
    sizes = [result.nbytes for _, result in found if result.nbytes is not None]
    return {"count": len(found), "nbytes": sum(sizes), "unsized": len(found) - len(sizes)}


def _keys(
    connection: psycopg.Connection, scope: Scope, found: Iterable[tuple[ResultId, Result]]
) -> dict[ResultId, tuple[str, int]]:
    """Return the key as the scope shows it, and the id of its prefix, by id."""
    ids = [id for id, _ in found]
    groups = store.groups(connection, {group for group, _ in ids})
    return {
        (group, rest): (scope.text(decode_key(rest, groups[group].name)), groups[group].prefix)
        for group, rest in ids
    }


def _size(item: tuple[ResultId, Result]) -> int:
    return UNKNOWN if item[1].nbytes is None else item[1].nbytes
