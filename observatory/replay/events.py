"""Events of a tile: each as itself; of kinds that there are too many of, how many began in each bin."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import psycopg

from observatory.replay.levels import Place
from observatory.store import timeline
from observatory.wire.blocks import encode, number_column, text_column

MOST_OF_KIND = 500
"""events of one kind that a tile has as themselves"""
NEVER_COUNTED = frozenset(
    {
        "scheduler-unreachable",
        "scheduler-reachable",
        "stream-lost",
        "stream-resumed",
        "records-dropped",
        "worker-lost",
    }
)
"""a gap is drawn from each, or each has to be found"""

Row = tuple[float, int, str, str, str]
"""time (s), worker (-1: none), kind, message, detail as JSON"""
Counts = Mapping[tuple[int, str], int]
"""by bin and kind"""


def events_of_rows(connection: psycopg.Connection, cluster: int, place: Place) -> bytes:
    """The blocks of the tile at `place`, of rows."""
    window = (cluster, place.start, place.stop)
    kinds = timeline.kinds_of_events(connection, *window, MOST_OF_KIND)
    counted = sorted(set(kinds) - NEVER_COUNTED)
    rows = [
        (time, -1 if worker is None else worker, kind, str(detail.get("message", "")), json.dumps(detail))
        for time, worker, kind, detail in timeline.events(connection, *window, without=counted)
    ]
    counts = timeline.counts_of_events(connection, *window, counted, place.level) if counted else {}
    return _blocks(rows, counts, place)


def events_of_children(rows: Sequence[Row], counts: Counts, place: Place) -> bytes:
    """The blocks of the tile at `place`, of the events and counts (by bins of `place`) of those below it."""
    each = Counter(kind for _, _, kind, _, _ in rows)
    counted = {kind for _, kind in counts} | {kind for kind, number in each.items() if number > MOST_OF_KIND}
    counted -= NEVER_COUNTED
    total = Counter(counts)
    for time, _, kind, _, _ in rows:
        if kind in counted:
            total[(round(time * 1e6) - place.start) >> place.level, kind] += 1
    return _blocks([row for row in rows if row[2] not in counted], total, place)


def _blocks(rows: Sequence[Row], counts: Counts, place: Place) -> bytes:
    blocks = _event_block(rows)
    return blocks + _count_block(counts, place) if counts else blocks


def _event_block(rows: Iterable[Row]) -> bytes:
    time, worker, kind, message, detail = list(zip(*rows, strict=True)) or [()] * 5
    columns = [
        number_column("time", "f64", time),
        number_column("worker", "i32", worker),
        text_column("kind", kind),
        text_column("message", message),
        text_column("detail", detail),
    ]
    return encode("event", len(time), columns)


def _count_block(counts: Counts, place: Place) -> bytes:
    ordered = sorted(counts)
    columns = [
        number_column("bin", "u32", [bin for bin, _ in ordered]),
        text_column("kind", [kind for _, kind in ordered]),
        number_column("count", "u32", [counts[one] for one in ordered]),
    ]
    return encode("event-count", len(ordered), columns, {"level": place.level, "index": place.index})
