"""Who sent what to whom in a window: a matrix, the largest transfers, stealing, P2P shuffles."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.greatest import Wanted, greatest
from observatory.replay.windows.sums import BinnedSums, Sums, binned_sums, sums
from observatory.store.queries.sums.steal_sums import OUTCOMES, STEAL_SUMS
from observatory.store.queries.sums.sum_layer import REST, UNKNOWN
from observatory.store.queries.sums.transfer_sums import TRANSFER_SUMS
from observatory.store.queries.windows import transfers as store
from observatory.store.queries.windows.outliers import hosts
from observatory.store.queries.windows.row_counts import has_more_transfers

MOST_PLACES = 50
"""rows of the matrix; with more workers, a row is a host"""
MOST_TRANSFERS = 50
MOST_STEALS = 200
MOST_SHUFFLES = 100
MOST_KEYS = 20
"""of a transfer that are listed"""

Item = dict[str, Any]
Figures = dict[int, float]
"""by worker"""
UNNAMED = {UNKNOWN: "unknown", REST: "others"}


def transfers_of(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, worker: int | None = None
) -> Item:
    """Return the API's transfers with after ≤ start < before (microseconds).

    `worker`: id of the one whose bytes over time are wanted as well.
    """
    found = sums(connection, scope, TRANSFER_SUMS, after, before)
    cells = {
        (sender, receiver): values
        for sender, receiver, *values in zip(
            *(found.columns[name].tolist() for name in ("sender", "receiver", *TRANSFER_SUMS.added)),
            strict=True,
        )
    }
    steals = _steals(sums(connection, scope, STEAL_SUMS, after, before))
    return {
        "start": found.start / 1e6,
        "stop": found.stop / 1e6,
        "total": {name: float(found.columns[name].sum()) for name in TRANSFER_SUMS.added},
        "unknown_senders": _unknown_senders(found),
        "over_time": _over_time(
            binned_sums(connection, scope, TRANSFER_SUMS, found.start, found.stop), worker
        ),
        **_matrix(cells, hosts(connection, scope.cluster.pk), scope),
        "largest": _largest(connection, scope, found.start, found.stop),
        "steals": steals[:MOST_STEALS],
        "outcomes": _outcomes(steals),
        "shuffles": _shuffles(connection, scope, found.start, found.stop),
    }


def received_bytes(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Figures:
    """Return the bytes that workers got from others in [after, before) (microseconds).

    Workers that got none are left out, and so are those whose transfers' sizes aren't all known.
    """
    columns = sums(connection, scope, TRANSFER_SUMS, after, before).columns
    workers, at = np.unique(columns["receiver"], return_inverse=True)
    nbytes, unsized = (np.bincount(at, columns[name], len(workers)) for name in ("nbytes", "unsized"))
    is_known = (nbytes > 0) & (unsized == 0) & (workers > 0)
    return dict(zip(workers[is_known].tolist(), nbytes[is_known].tolist(), strict=True))


def _over_time(found: BinnedSums, worker: int | None) -> Item:
    def by_bin(name: str, chosen: Any = True) -> list[float]:
        values = np.where(chosen, columns[name], 0.0)
        return np.bincount(columns["bin"], values, found.bins).tolist() if found.bins else []

    columns = found.columns
    of_worker = {
        word: None if worker is None else by_bin("nbytes", columns[key] == worker)
        for word, key in (("received", "receiver"), ("sent", "sender"))
    }
    return {
        "start": found.first / 1e6,
        "width": found.width / 1e6,
        "count": by_bin("count"),
        "nbytes": by_bin("nbytes"),
        **of_worker,
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
    for (sender, receiver), (_, nbytes, seconds, _) in cells.items():
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


def _largest(connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> list[Item]:
    cluster = scope.cluster.pk
    wanted = Wanted(
        layer=TRANSFER_SUMS,
        greatest="largest",
        can_have=lambda rows: rows["count"] > rows["unsized"],
        has_more=lambda begin, end, than: has_more_transfers(connection, cluster, begin, end, than),
        read=lambda begin, end: store.largest_transfers(connection, cluster, begin, end, MOST_TRANSFERS),
        value=lambda one: one.nbytes,
        start=lambda one: one.start,
    )
    largest = greatest(connection, scope, wanted, start, stop, MOST_TRANSFERS)
    waiting = store.waiting_tasks(connection, cluster, largest)
    return [_transfer(one, task, scope) for one, task in zip(largest, waiting, strict=True)]


def _transfer(one: store.Transfer, waiting: store.WaitingTask | None, scope: Scope) -> Item:
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
        "lane": None if waiting is None else waiting.lane,
        "waiting": None if waiting is None else scope.text(waiting.key),
        "prefix": None if waiting is None else waiting.prefix,
    }


def _steals(found: Sums) -> list[Item]:
    """Return how many requests of each victim and thief had an outcome, the most frequent first."""
    rows = zip(*(found.columns[name].tolist() for name in (*STEAL_SUMS.keys, "count")), strict=True)
    return [
        {
            "victim": victim if victim > 0 else None,
            "thief": thief if thief > 0 else None,
            "outcome": OUTCOMES[outcome],
            "count": round(count),
        }
        for victim, thief, outcome, count in sorted(rows, key=lambda row: (-row[3], *row[:3]))
    ]


def _outcomes(steals: list[Item]) -> dict[str, int]:
    outcomes: Counter[str] = Counter()
    for one in steals:
        outcomes[one["outcome"]] += one["count"]
    return dict(outcomes)


def _shuffles(connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> list[Item]:
    cluster = scope.cluster.pk
    amounts: dict[str, list[store.ShuffleAmount]] = {}
    for read in (store.shuffle_amounts, store.shuffle_exchanges):
        for one in read(connection, cluster, start, stop):
            amounts.setdefault(one.shuffle, []).append(one)
    firsts = {id: min(one.first for one in found) for id, found in amounts.items()}
    shuffles = sorted(amounts, key=lambda id: (firsts[id], id))[-MOST_SHUFFLES:]
    named = store.shuffle_names(connection, cluster, stop, shuffles)
    return [_shuffle(amounts[id], *named.get(id, ("", "")), scope) for id in shuffles]


def _shuffle(amounts: list[store.ShuffleAmount], name: str, code: str, scope: Scope) -> Item:
    return {
        "shuffle": amounts[0].shuffle,
        "name": scope.text(name),
        "code": scope.text(code),
        "first": min(one.first for one in amounts),
        "last": max(one.last for one in amounts),
        "amounts": [
            {"medium": one.medium, "what": one.what, "nbytes": one.nbytes, "progress": one.progress}
            for one in amounts
        ],
    }
