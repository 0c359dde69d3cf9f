"""Clips tiles and extents to a window, and removes what the scope doesn't share."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from observatory.replay.scope import Scope
from observatory.replay.tiles.events import event_block, event_count_block, shown_events
from observatory.store.queries.extents import SETTLING
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.blocks import Block, Column, decode, encode
from observatory.wire.event_kinds import EVENT_KINDS
from observatory.wire.timeline_blocks import KINDS


def clip_tile(packed: bytes, scope: Scope) -> bytes:
    """Clip a gzipped tile to the scope: its extent, its spans and its events."""
    blocks = decode(gzip.decompress(packed))
    return gzip.compress(b"".join(_clip_block(block, scope) for block in blocks), 1, mtime=0)


def clip_extent(meta: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Return the meta of a window's `extent` block, without the counts, which aren't known for a window.

    Its first time and its end are those of the window, also where nothing was recorded at its edges: a run is
    as long on its page as in lists.
    """
    start, stop = scope.start / 1e6, scope.stop / 1e6
    end = meta["ended"] if scope.stop == MAXIMUM_TIME else stop
    is_over = meta["last"] >= stop or meta["ended"] is not None or meta["committed"] >= stop
    return {
        "first": start or meta["first"],
        "last": min(max(meta["last"], start), stop),
        # later than the window, so that the page treats its tiles as closed
        "committed": min(meta["committed"], stop + SETTLING),
        "version": meta["version"],
        "sequence": meta["sequence"],
        "ended": end if is_over else None,
        "end_reason": scope.end_reason if is_over else "",
        "stream": "unknown",
    }


def _clip_block(block: Block, scope: Scope) -> bytes:
    if block.kind == "extent":
        block = replace(block, meta=clip_extent(block.meta, scope))
    elif block.kind == "span":
        block = _clip_spans(block, scope)
    elif block.kind == "event":
        block = _show_events(block, scope)
    elif block.kind == "event-count" and scope.is_public:
        block = _count_shown(block)
    if scope.is_public:
        block = shared_block(block)
    return encode(block.kind, block.rows, list(block.columns.values()), block.meta, may_share=True)


def shared_block(block: Block) -> Block:
    """Return a block with the columns and the meta that its kind lists for public links."""
    listed = KINDS[block.kind].shared
    return replace(
        block,
        columns={name: column for name, column in block.columns.items() if name in listed},
        meta={name: value for name, value in block.meta.items() if name in listed},
    )


def _clip_spans(block: Block, scope: Scope) -> Block:
    columns = dict(block.columns)
    for name in ("start", "stop"):
        times = np.frombuffer(columns[name].data, "<f8", block.rows)
        clipped = np.clip(times, scope.start / 1e6, scope.stop / 1e6)
        columns[name] = Column(name, "f64", clipped)
    for name in ("key", "typename"):
        texts = [scope.text(text) for text in columns[name].values or ()]
        columns[name] = replace(columns[name], values=texts)
    return replace(block, columns=columns)


def _show_events(block: Block, scope: Scope) -> Block:
    columns = (block.list(name) for name in ("time", "worker", "kind", "message", "detail"))
    [shown] = decode(event_block(shown_events(zip(*columns, strict=True), scope)))
    return shown


def _count_shown(block: Block) -> Block:
    """Return the counts of the kinds of events that a public link shows."""
    rows = zip(*(block.list(name) for name in ("bin", "kind", "count")), strict=True)
    [shown] = decode(event_count_block((row for row in rows if row[1] in EVENT_KINDS), block.meta))
    return shown
