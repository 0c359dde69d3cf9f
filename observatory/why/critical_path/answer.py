"""The API's answer: the critical path of a window, by kind, by prefix, and its longest pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.runs.other_work import other_work_in
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.findings import keys_of_tasks
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.store.queries.windows.thread_time import keys_of_computations
from observatory.why.critical_path.path import CriticalPath, Piece
from observatory.why.critical_path.predecessors import NONE
from observatory.why.critical_path.slack import slacks
from observatory.why.reading import read_for_path
from observatory.why.records import Spans
from observatory.why.thread_times.kinds import KINDS, TEXTS, ThreadKind
from observatory.why.window import Item, readable_part

MOST_PIECES, MOST_PREFIXES = 2_000, 100


def critical_path(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, most: int | None = None
) -> Item:
    """Return the API's answer for [after, before) (microseconds). Raises TooManyTasks as readable_part."""
    cluster = scope.cluster.pk
    start, stop = readable_part(connection, scope, after, before, most)
    with snapshot(connection):
        others = other_work_in(connection, scope, stop)
        records, graph = read_for_path(connection, cluster, start, stop, others)
    path = CriticalPath(records, graph)
    pieces = path.pieces()
    listed = _longest(pieces)
    return {
        "start": start / 1e6,
        "stop": stop / 1e6,
        "has_agent": records.has_agent,
        "has_graph": len(graph) > 0,
        "kinds": _kinds(pieces),
        **_prefixes(connection, scope, path, pieces),
        "pieces": _pieces(connection, scope, path, listed),
        "other_pieces": len(pieces) - len(listed),
    }


def _kinds(pieces: Sequence[Piece]) -> list[Item]:
    seconds: Counter[ThreadKind] = Counter()
    for piece in pieces:
        seconds[piece.kind] += piece.stop - piece.start
    return [
        {"kind": kind.value, "title": TEXTS[kind].title, "seconds": seconds[kind] / 1e6} for kind in KINDS
    ]


def _prefixes(connection: psycopg.Connection, scope: Scope, path: CriticalPath, pieces: list[Piece]) -> Item:
    computing = path.computing
    on_path = np.unique([piece.place for piece in pieces if piece.place != NONE]).astype(np.int64)
    end = min(int(computing.times.stop.max(initial=0)), path.stop)
    slack = slacks(computing, path.needed, path.previous, on_path, end)
    ids, place = np.unique(computing.prefix, return_inverse=True)
    least = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(least, place, slack)
    seconds = np.zeros((len(ids), len(KINDS)))
    for piece in pieces:
        if piece.place != NONE:
            seconds[place[piece.place], KINDS.index(piece.kind)] += (piece.stop - piece.start) / 1e6
    names = prefix_names(connection, scope.cluster.pk)
    shares: list[Item] = [
        {
            "prefix": id,
            "name": scope.text(names[id]),
            "seconds": row.round(6).tolist(),
            "slack": microseconds / 1e6,
        }
        for id, row, microseconds in zip(ids.tolist(), seconds, least.tolist(), strict=True)
        if id in names
    ]
    shares.sort(key=lambda share: (-sum(share["seconds"]), share["slack"]))
    return {"prefixes": shares[:MOST_PREFIXES], "other_prefixes": max(0, len(shares) - MOST_PREFIXES)}


def _longest(pieces: Sequence[Piece]) -> list[Piece]:
    """The longest pieces, in order of time."""
    longest = sorted(pieces, key=lambda piece: piece.start - piece.stop)[:MOST_PIECES]
    return sorted(longest, key=lambda piece: piece.start)


def _pieces(
    connection: psycopg.Connection, scope: Scope, path: CriticalPath, pieces: Sequence[Piece]
) -> list[Item]:
    keys = _keys(connection, scope.cluster.pk, path, sorted({piece.place for piece in pieces} - {NONE}))
    return [_piece(scope, path.computing, piece, keys.get(piece.place)) for piece in pieces]


def _keys(
    connection: psycopg.Connection, cluster: int, path: CriticalPath, places: Sequence[int]
) -> dict[int, str]:
    """The key of the task of each computation, by place."""
    recorded = [place for place in places if path.has_span(place)]
    left = [place for place in places if not path.has_span(place)]
    spans = path.computing.where(np.array(recorded, np.int64))
    found = keys_of_computations(connection, cluster, spans.lane.tolist(), spans.recorded_start.tolist())
    tasks = path.computing.task[np.array(left, np.int64)].tolist()
    prefixes = set(path.computing.prefix[np.array(left, np.int64)].tolist())
    keys = keys_of_tasks(connection, cluster, tasks, prefixes, path.start, path.stop) if tasks else {}
    of_left = {place: keys[task] for place, task in zip(left, tasks, strict=True) if task in keys}
    return dict(zip(recorded, found, strict=True)) | of_left


def _piece(scope: Scope, computing: Spans, piece: Piece, key: str | None) -> Item:
    item: Item = {"kind": piece.kind.value, "start": piece.start / 1e6, "stop": piece.stop / 1e6}
    if key is None:
        return item | {"key": None, "prefix": None, "worker": None, "lane": None}
    return item | {
        "key": scope.text(key),
        "prefix": int(computing.prefix[piece.place]),
        "worker": int(computing.worker[piece.place]),
        "lane": lane if (lane := int(computing.lane[piece.place])) >= 0 else None,
    }
