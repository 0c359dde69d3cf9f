"""Builds tiles of the higher levels from the two tiles below each; all records are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from observatory.replay.tiles import each_worker, sums
from observatory.replay.tiles.bins import (
    BusyBins,
    Integers,
    SeriesBins,
    bin_spans,
    is_short,
    merge_busy_bins,
    merge_series_bins,
)
from observatory.replay.tiles.events import event_blocks_from_children
from observatory.replay.tiles.from_rows import bin_block, busy_block
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import BINS, TileId
from observatory.replay.tiles.long_spans import LongSpans
from observatory.replay.tiles.profiles import INTEGER_COLUMNS, ProfileBins, merge_profile_bins, profile_block
from observatory.store.blocks.timeline_blocks import decode_array
from observatory.wire.blocks import Block, decode
from observatory.wire.layers import EVENTS, PREFIXES, PROFILE, SPANS
from observatory.wire.timeline_blocks import EVENT, EVENT_COUNT, SPAN, BlockKind

Children = Sequence[tuple[TileId, bytes]]


def tile_from_children(layer: Layer, tile_id: TileId, children: Children, window: tuple[int, int]) -> bytes:
    """Return the blocks of a tile from none, one or two children, clipped to `window` (microseconds)."""
    if layer.is_each:
        return each_worker.from_children(layer, tile_id, children)
    if layer.is_sum:
        return sums.from_children(layer, tile_id, children)
    if layer.name == SPANS:
        return _spans(tile_id, children, window)
    if layer.name == PREFIXES:
        return busy_block(_busy(tile_id, children), tile_id)
    if layer.name == EVENTS:
        rows = [row for _, body in children for row in _rows(body, EVENT)]
        return event_blocks_from_children(rows, _event_counts(children), tile_id)
    if layer.name == PROFILE:
        return profile_block(_profile(tile_id, children), tile_id)
    return bin_block(_series(tile_id, children), layer, tile_id)


def _spans(tile_id: TileId, children: Children, window: tuple[int, int]) -> bytes:
    """Bin the spans that are short at this level, keep long ones; a span in both children is used once."""
    found = [(child, _block(body, SPAN.name)) for child, body in children]
    blocks = [block for _, block in found if block is not None]
    if not blocks:
        return busy_block(_busy(tile_id, children), tile_id)
    spans = LongSpans(blocks)
    is_new = spans.start >= np.concatenate(
        [
            np.full(block.rows, 0 if child is children[0][0] else child.start)
            for child, block in found
            if block is not None
        ]
    )
    short = is_short(spans.start, spans.stop, tile_id)
    busy = _busy(tile_id, children, [_bins(tile_id, spans, np.flatnonzero(is_new & short), window)])
    long = np.flatnonzero(is_new & ~short)
    return busy_block(busy, tile_id) + (spans.encode(long) if len(long) else b"")


def _bins(tile_id: TileId, spans: LongSpans, rows: Integers, window: tuple[int, int]) -> BusyBins:
    lane, prefix, action = (spans.columns[name][rows] for name in ("lane", "prefix", "action"))
    return bin_spans(lane, prefix, action, spans.start[rows], spans.stop[rows], tile_id, window)


def _busy(tile_id: TileId, children: Children, more: Iterable[BusyBins] = ()) -> BusyBins:
    parts = []
    for child, body in children:
        block = _block(body, "busy")
        if block is not None:
            lane, bins, prefix, action, seconds, count = (
                decode_array(block, name) for name in ("lane", "bin", "prefix", "action", "seconds", "count")
            )
            parts.append(BusyBins(lane, (bins >> 1) + _half(child), prefix, action, seconds, count))
    return merge_busy_bins([*parts, *more])


def _event_counts(children: Children) -> Counter[tuple[int, str]]:
    """Add up event counts by bin of the parent and kind."""
    counts: Counter[tuple[int, str]] = Counter()
    for child, body in children:
        for bin, kind, count in _rows(body, EVENT_COUNT):
            counts[(bin >> 1) + _half(child), kind] += count
    return counts


def _half(child: TileId) -> int:
    """Return the parent's bin in which the child starts."""
    return BINS // 2 if child.index % 2 else 0


def _series(tile_id: TileId, children: Children) -> SeriesBins:
    parts = []
    for _, body in children:
        block = _block(body, "bin")
        if block is not None:
            found = {field.name: decode_array(block, field.name) for field in fields(SeriesBins)}
            found["time"] = np.rint(found["time"] * 1e6).astype(np.int64)
            parts.append(SeriesBins(**found))
    return merge_series_bins(parts, tile_id)


def _profile(tile_id: TileId, children: Children) -> ProfileBins:
    parts = []
    for _, body in children:
        block = _block(body, "profile")
        if block is not None:
            time = np.rint(decode_array(block, "time") * 1e6).astype(np.int64)
            bins = 2 * int(block.meta["bins"])
            parts.append(
                ProfileBins(time, **{name: decode_array(block, name) for name in INTEGER_COLUMNS}, bins=bins)
            )
    return merge_profile_bins(parts, tile_id)


def count_spans(body: bytes) -> int:
    """Count the spans in a tile of the layer `spans`; one over several bins counts in each."""
    busy, long = _block(body, "busy"), _block(body, "span")
    return (0 if busy is None else int(decode_array(busy, "count").sum())) + (
        0 if long is None else long.rows
    )


def _block(body: bytes, kind: str) -> Block | None:
    return next((block for block in decode(body) if block.kind == kind and block.rows), None)


def _rows(body: bytes, kind: BlockKind) -> list[tuple[Any, ...]]:
    block = _block(body, kind.name)
    return (
        [] if block is None else list(zip(*(block.list(column.name) for column in kind.columns), strict=True))
    )
