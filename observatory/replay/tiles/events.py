"""The events of a tile; kinds with too many events are counted by bin."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg

from observatory.replay.scope import Scope, Section
from observatory.replay.tiles.levels import TileId
from observatory.store.queries import timeline
from observatory.store.timeline_blocks import encode_rows
from observatory.wire.event_kinds import AGENT_STARTED, BOUNDED_GAPS, CLIENT_DESCRIBED, NEVER_BINNED
from observatory.wire.timeline_blocks import EVENT, EVENT_COUNT

MAXIMUM_OF_KIND = 500
"""events of one kind in a tile; more are counted by bin"""

STRUCTURAL = ("worker-", "scheduler-", "stream-", *BOUNDED_GAPS)
"""prefixes of the kinds whose details are made by Observatory, not by the cluster's code"""

Row = tuple[float, int, str, str, str]
"""time (s), worker (-1: none), kind, message, detail as JSON"""
Counts = Mapping[tuple[int, str], int]
"""by bin and kind"""


def list_events(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, limit: int
) -> list[dict[str, Any]]:
    """Return the first events of the scope with after ≤ time < before (microseconds)."""
    window = max(after, scope.start), min(before, scope.stop)
    return [
        {
            "time": time,
            "worker": None if worker < 0 else worker,
            "kind": kind,
            "message": message,
            "detail": json.loads(detail),
        }
        for time, worker, kind, message, detail in (
            redact_event(row, scope)
            for row in _rows(timeline.events(connection, scope.cluster.pk, *window, limit))
        )
    ]


def redact_event(row: Row, scope: Scope) -> Row:
    """Return an event as the scope may show it.

    Messages can contain log lines and exceptions: a public link without these sections shows the kind only.
    The time range of dropped records is clipped to the window. Addresses are replaced if the scope hides
    them.
    """
    time, worker, kind, message, detail = _shared_event(row, scope) if scope.is_public else row
    if scope.pseudonyms is not None:
        message, detail = scope.pseudonyms.text(message), scope.pseudonyms.json(detail)
    return time, worker, kind, message, detail


def _shared_event(row: Row, scope: Scope) -> Row:
    time, worker, kind, message, detail = row
    if not kind.startswith(STRUCTURAL) and not {Section.LOGS, Section.TRACEBACKS} <= scope.sections:
        return time, worker, kind, "", "{}"
    if kind in (AGENT_STARTED, CLIENT_DESCRIBED):  # a link doesn't tell the environment of processes
        return time, worker, kind, message, json.dumps({"message": message})
    if kind not in BOUNDED_GAPS:
        return row
    found = json.loads(detail)
    for name in ("first", "last"):
        if isinstance(found.get(name), int | float):
            found[name] = min(max(found[name], scope.start / 1e6), scope.stop / 1e6)
    return time, worker, kind, message, json.dumps(found)


def event_blocks_from_rows(connection: psycopg.Connection, scope: Scope, tile_id: TileId) -> bytes:
    """Return the event blocks of a tile from rows."""
    window = (scope.cluster.pk, *scope.clip(tile_id))
    kinds = timeline.frequent_event_kinds(connection, *window, MAXIMUM_OF_KIND)
    counted = sorted(set(kinds) - NEVER_BINNED)
    rows = list(_rows(timeline.events(connection, *window, without=counted)))
    bins = (tile_id.start, tile_id.level)
    counts = timeline.count_events(connection, *window, counted, *bins) if counted else {}
    return _blocks(rows, counts, tile_id)


def event_blocks_from_children(rows: Sequence[Row], counts: Counts, tile_id: TileId) -> bytes:
    """Return the event blocks of a tile from the events of its children and their counts by its own bins."""
    each = Counter(kind for _, _, kind, _, _ in rows)
    counted = {kind for _, kind in counts} | {
        kind for kind, number in each.items() if number > MAXIMUM_OF_KIND
    }
    counted -= NEVER_BINNED
    total = Counter(counts)
    for time, _, kind, _, _ in rows:
        if kind in counted:
            total[(round(time * 1e6) - tile_id.start) >> tile_id.level, kind] += 1
    return _blocks([row for row in rows if row[2] not in counted], total, tile_id)


def _rows(found: Iterable[tuple[float, int | None, str, dict[str, Any]]]) -> Iterator[Row]:
    for time, worker, kind, detail in found:
        yield time, -1 if worker is None else worker, kind, str(detail.get("message", "")), json.dumps(detail)


def _blocks(rows: Sequence[Row], counts: Counts, tile_id: TileId) -> bytes:
    blocks = event_block(rows)
    return blocks + _count_block(counts, tile_id) if counts else blocks


def event_block(rows: Iterable[Row]) -> bytes:
    """Encode events."""
    return encode_rows(EVENT, rows)


def _count_block(counts: Counts, tile_id: TileId) -> bytes:
    rows = [(bin, kind, count) for (bin, kind), count in sorted(counts.items())]
    return encode_rows(EVENT_COUNT, rows, {"level": tile_id.level, "index": tile_id.index})
