"""Who sent what to whom in a window: a matrix, the largest transfers, stealing, P2P shuffles."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.window_sums import Sums, sums
from observatory.store.queries.sums.sum_layer import REST, UNKNOWN
from observatory.store.queries.sums.transfer_sums import TRANSFER_SUMS
from observatory.store.queries.windows import transfers as store
from observatory.store.queries.windows.outliers import hosts

MOST_PLACES = 50
"""rows of the matrix; with more workers, a row is a host"""
MOST_TRANSFERS = 50
MOST_STEALS = 200
MOST_SHUFFLES = 100
MOST_KEYS = 20
"""of a transfer that are listed"""

Item = dict[str, Any]
UNNAMED = {UNKNOWN: "unknown", REST: "others"}


def transfers_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's transfers with after ≤ start < before (microseconds)."""
    found = sums(connection, scope, TRANSFER_SUMS, after, before)
    window = (connection, scope.cluster.pk, found.start, found.stop)
    cells = {
        (sender, receiver): values
        for sender, receiver, *values in zip(
            *(found.columns[name].tolist() for name in ("sender", "receiver", *TRANSFER_SUMS.added)),
            strict=True,
        )
    }
    steals = store.steal_counts(*window)
    return {
        "start": found.start / 1e6,
        "stop": found.stop / 1e6,
        "total": {name: float(found.columns[name].sum()) for name in TRANSFER_SUMS.added},
        "unknown_senders": _unknown_senders(found),
        **_matrix(cells, hosts(connection, scope.cluster.pk), scope),
        "largest": [_transfer(one, scope) for one in store.largest_transfers(*window, MOST_TRANSFERS)],
        "steals": [_steal(one) for one in steals[:MOST_STEALS]],
        "outcomes": dict(_outcomes(steals)),
        "shuffles": _shuffles(store.shuffle_amounts(*window)),
    }


def _unknown_senders(found: Sums) -> float:
    return float(found.columns["count"][found.columns["sender"] == UNKNOWN].sum())


def _matrix(cells: dict[tuple[int, int], list[float]], host_of: dict[int, str], scope: Scope) -> Item:
    """Return the rows and cells of the matrix: of workers, or of hosts where there are many workers."""
    workers = {place for pair in cells for place in pair if place not in UNNAMED}
    by_host = len(workers) > MOST_PLACES and len({host_of[worker] for worker in workers}) > 1
    names: dict[int, Any] = {**UNNAMED, **{worker: worker for worker in workers}}
    if by_host:
        names |= {worker: (host_of[worker],) for worker in workers}
    totals: defaultdict[Any, float] = defaultdict(float)
    for (sender, receiver), (_, nbytes, seconds) in cells.items():
        for name in {names[sender], names[receiver]} - set(UNNAMED.values()):
            totals[name] += nbytes or seconds
    named = set(heapq.nlargest(MOST_PLACES, totals, key=totals.__getitem__))
    sums_of: dict[tuple[Any, Any], list[float]] = defaultdict(lambda: [0.0] * len(TRANSFER_SUMS.added))
    for pair, values in cells.items():
        row, column = (
            name if name in named or name == UNNAMED[UNKNOWN] else UNNAMED[REST]
            for name in (names[place] for place in pair)
        )
        sums_of[row, column] = [a + b for a, b in zip(sums_of[row, column], values, strict=True)]
    places = [*sorted(named), *(name for name in UNNAMED.values() if any(name in pair for pair in sums_of))]
    number = {name: place for place, name in enumerate(places)}
    return {
        "places": [_place(name, scope) for name in places],
        "cells": [
            {
                "sender": number[sender],
                "receiver": number[receiver],
                **dict(zip(TRANSFER_SUMS.added, values, strict=True)),
            }
            for (sender, receiver), values in sorted(
                sums_of.items(), key=lambda cell: (number[cell[0][0]], number[cell[0][1]])
            )
        ],
    }


def _place(name: Any, scope: Scope) -> Item:
    if isinstance(name, int):
        return {"kind": "worker", "worker": name, "host": None}
    if isinstance(name, str):
        return {"kind": name, "worker": None, "host": None}
    [host] = name
    shown = scope.pseudonyms.hosts.get(host, "host") if scope.pseudonyms is not None else host
    return {"kind": "host", "worker": None, "host": shown}


def _transfer(one: store.LargeTransfer, scope: Scope) -> Item:
    start, stop = scope.clip_seconds(one.start, one.stop)
    return {
        "sender": one.sender,
        "receiver": one.receiver,
        "start": start,
        "stop": stop,
        "nbytes": one.nbytes,
        "count": one.count,
        "keys": [
            {"key": scope.text(key), "nbytes": size if isinstance(size, (int, float)) else None}
            for key, size in list(one.keys.items())[:MOST_KEYS]
        ],
        "lane": one.lane,
        "waiting": None if one.waiting is None else scope.text(one.waiting),
    }


def _steal(one: store.StealCount) -> Item:
    return {"victim": one.victim, "thief": one.thief, "outcome": one.outcome, "count": one.count}


def _outcomes(steals: list[store.StealCount]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for one in steals:
        outcomes[one.outcome] += one.count
    return outcomes


def _shuffles(amounts: list[store.ShuffleAmount]) -> list[Item]:
    found: dict[str, Item] = {}
    for one in amounts:
        shuffle = found.setdefault(
            one.shuffle, {"shuffle": one.shuffle, "first": one.first, "last": one.last, "amounts": []}
        )
        shuffle["first"] = min(shuffle["first"], one.first)
        shuffle["last"] = max(shuffle["last"], one.last)
        shuffle["amounts"].append({"medium": one.medium, "what": one.what, "nbytes": one.nbytes})
    return list(found.values())[-MOST_SHUFFLES:]
