"""The events of a tile; kinds with too many events are counted by bin."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg

from observatory.replay.scope import Scope, Section
from observatory.replay.tiles.levels import TileId
from observatory.store.blocks.timeline_blocks import encode_rows
from observatory.store.queries import timeline
from observatory.store.queries.events import RepeatedEvent, repeated_events
from observatory.wire.event_kinds import EVENT_KINDS, GRAPH_UPDATED, NEVER_BINNED, Detail, DetailType
from observatory.wire.timeline_blocks import EVENT, EVENT_COUNT

MAXIMUM_OF_KIND = 500
"""events of one kind in a tile; more are counted by bin"""

Row = tuple[float, int, str, str, str]
"""time (s), worker (-1: none), kind, message, detail as JSON"""
Counts = Mapping[tuple[int, str], int]
"""by bin and kind"""


def list_events(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, limit: int
) -> list[dict[str, Any]]:
    """Return the first events of the scope with after ≤ time < before (microseconds)."""
    window = max(after, scope.start), min(before, scope.stop)
    found = _rows(timeline.events(connection, scope.cluster.pk, *window, limit))
    return [_item(row) for row in shown_events(found, scope)]


def list_repeated_events(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, limit: int
) -> list[dict[str, Any]]:
    """As list_events, but those that repeat are one, which says so in its message."""
    window = max(after, scope.start), min(before, scope.stop)
    found = []
    for event in repeated_events(connection, scope.cluster.pk, *window, limit):
        [row] = _rows([(event.time, event.worker, event.kind, event.detail)])
        if (shown := _shown_event(row, scope)) is not None:
            item = _item(shown)
            message = _message_of(event, item["message"])
            found.append({**item, "until": event.until, "count": event.count, "message": message})
    return found


def _message_of(event: RepeatedEvent, message: str) -> str:
    """What those that repeat say together; `message` is that of the first one."""
    if event.count == 1:
        return message
    if event.kind != GRAPH_UPDATED:
        return f"{event.count:,}× {message or event.kind}"
    tasks = f" with {event.tasks:,} task{'s' if event.tasks > 1 else ''}" if event.tasks else ""
    clients = f" by {event.clients} clients" if event.clients > 1 else ""
    return f"{event.count:,} graphs{tasks} submitted{clients}"


def _item(row: Row) -> dict[str, Any]:
    time, worker, kind, message, detail = row
    return {
        "time": time,
        "until": time,
        "count": 1,
        "worker": None if worker < 0 else worker,
        "kind": kind,
        "message": message,
        "detail": json.loads(detail),
    }


def shown_events(rows: Iterable[Row], scope: Scope) -> Iterator[Row]:
    for row in rows:
        shown = _shown_event(row, scope)
        if shown is not None:
            yield shown


def _shown_event(row: Row, scope: Scope) -> Row | None:
    """Return an event as the scope may show it; None where it may not.

    A public link shows what the event's kind lists (wire/event_kinds.py): of the detail the listed items, and
    instead of the message, which can contain log lines and exceptions, what happened. Where it shares these,
    it shows the message and the listed texts, too. Times are clipped to the window.
    """
    shown = _shared_event(row, scope) if scope.is_public else row
    if shown is None or scope.pseudonyms is None:
        return shown
    time, worker, kind, message, detail = shown
    return time, worker, kind, scope.pseudonyms.text(message), scope.pseudonyms.json(detail)


def _shared_event(row: Row, scope: Scope) -> Row | None:
    time, worker, name, message, detail = row
    kind = EVENT_KINDS.get(name)
    if kind is None:
        return None
    has_texts = {Section.LOGS, Section.TRACEBACKS} <= scope.sections
    text = message if has_texts and not kind.has_bounds else kind.label
    recorded = json.loads(detail)
    items = {
        item.name: value
        for item in kind.details
        if item.name in recorded
        and (value := _shared_item(item, recorded[item.name], scope, has_texts)) is not None
    }
    return time, worker, name, text, json.dumps({"message": text, **items})


def _shared_item(item: Detail, value: Any, scope: Scope, has_texts: bool) -> Any:
    """Return an item of a detail as a public link shows it; None: it does not."""
    if item.type is DetailType.TEXT:
        return value if has_texts else None
    if item.type is DetailType.WORD:
        return value if isinstance(value, str) and value in item.words else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if item.type is DetailType.TIME:
        return min(max(value, scope.start / 1e6), scope.stop / 1e6)
    return value


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


def event_count_block(rows: Iterable[tuple[int, str, int]], meta: Mapping[str, Any]) -> bytes:
    """Encode numbers of events, each with its bin and kind."""
    return encode_rows(EVENT_COUNT, rows, meta)


def _count_block(counts: Counts, tile_id: TileId) -> bytes:
    rows = ((bin, kind, count) for (bin, kind), count in sorted(counts.items()))
    return event_count_block(rows, {"level": tile_id.level, "index": tile_id.index})
