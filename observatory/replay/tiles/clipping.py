"""Clips tiles and extents to a window, and removes what the scope doesn't share."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from observatory.replay.scope import Scope
from observatory.replay.tiles.events import event_block, redact_event
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.blocks import Block, Column, decode, encode


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
        "end_reason": "",
        "stream": "unknown",
    }


def _clip_block(block: Block, scope: Scope) -> bytes:
    if block.kind == "extent":
        return _encode(replace(block, meta=clip_extent(block.meta, scope)))
    if block.kind == "span":
        return _encode(_clip_spans(block, scope))
    if block.kind == "event":
        return _redact_events(block, scope)
    return _encode(block)


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


def _redact_events(block: Block, scope: Scope) -> bytes:
    columns = (block.list(name) for name in ("time", "worker", "kind", "message", "detail"))
    return event_block([redact_event(row, scope) for row in zip(*columns, strict=True)])


def _encode(block: Block) -> bytes:
    return encode(block.kind, block.rows, list(block.columns.values()), block.meta, may_share=True)
