"""Tiles of sums, in eight bins each. The server answers from them; they are not sent to pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.bins import first_places, sort_order
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import BINS, TileId
from observatory.store.blocks.timeline_blocks import decode_array, encode_block
from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.store.queries.sums.sum_layer import REST, Columns, SumLayer
from observatory.store.queries.sums.sum_layer import Bins as WideBins
from observatory.wire.blocks import decode
from observatory.wire.timeline_blocks import BlockColumn, BlockKind

SUM_BINS_SHIFT = 3
SUM_BINS = 1 << SUM_BINS_SHIFT
"""of a tile"""

MICROSECONDS = 1e6
"""of a second: tiles have durations in them"""

Children = Sequence[tuple[TileId, bytes]]


def bin_width(tile_id: TileId) -> int:
    """Return the width of a tile's bins of sums in microseconds."""
    return tile_id.bin_width * (BINS // SUM_BINS)


def from_rows(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> bytes:
    """Return the block of a tile, made from rows."""
    declared = SUM_LAYERS[layer.name]
    bins = WideBins(*scope.clip(tile_id), tile_id.start, bin_width(tile_id))
    rows = declared.read(connection, scope.cluster.pk, bins)
    return _encode(declared, merge_sums(declared, [rows]), tile_id)


def from_children(layer: Layer, tile_id: TileId, children: Children) -> bytes:
    """Return the block of a tile, made from those of none, one or two children."""
    declared = SUM_LAYERS[layer.name]
    parts = []
    for child, body in children:
        rows = read_sums(declared, body)
        rows["bin"] = (rows["bin"] >> 1) + (SUM_BINS // 2 if child.index % 2 else 0)
        parts.append(rows)
    return _encode(declared, merge_sums(declared, parts), tile_id)


def read_sums(layer: SumLayer, body: bytes) -> Columns:
    """Return the columns of a tile."""
    kind = _kind(layer)
    for block in decode(body):
        if block.kind == kind.name:
            rows = {column.name: decode_array(block, column.name) for column in kind.columns}
            return {**rows, **{name: rows[name] / MICROSECONDS for name in layer.durations}}
    return merge_sums(layer, [])


def merge_sums(layer: SumLayer, parts: Sequence[Columns]) -> Columns:
    """Add up the rows of equal keys and bins; sorted by keys and bin."""
    keys = (*layer.keys, "bin")
    types = {**dict.fromkeys(keys, np.int64), **dict.fromkeys(layer.sums, np.float64)}
    rows: Columns = {
        name: np.concatenate([part[name] for part in parts] or [np.zeros(0)]).astype(type)
        for name, type in types.items()
    }
    if not len(rows["bin"]):
        return rows
    order = sort_order(*(rows[name] for name in keys))
    rows = {name: column[order] for name, column in rows.items()}
    firsts = first_places(*(rows[name] for name in keys))
    return {
        **{name: rows[name][firsts] for name in keys},
        **{name: np.add.reduceat(rows[name], firsts) for name in layer.added},
        **{name: np.maximum.reduceat(rows[name], firsts) for name in layer.greatest},
        **{name: np.minimum.reduceat(rows[name], firsts) for name in layer.least},
    }


def limit_rows(layer: SumLayer, rows: Columns) -> Columns:
    """Add up the smallest keys as REST until there are at most `most_rows`."""
    while len(rows["bin"]) > layer.most_rows:
        keys = np.concatenate([rows[name] for name in layer.named])
        amounts = np.tile(rows[layer.named_by], len(layer.named))
        values, places = np.unique(keys[keys != REST], return_inverse=True)
        if not len(values):
            break
        totals = np.bincount(places, amounts[keys != REST], len(values))
        smallest = values[np.argsort(totals, kind="stable")[: -(-len(values) // 2)]]
        rest = {name: np.where(np.isin(rows[name], smallest), REST, rows[name]) for name in layer.named}
        rows = merge_sums(layer, [{**rows, **rest}])
    return rows


def _encode(layer: SumLayer, rows: Columns, tile_id: TileId) -> bytes:
    meta = {"level": tile_id.level, "index": tile_id.index}
    kept = limit_rows(layer, rows)
    whole = {name: np.rint(kept[name] * MICROSECONDS) for name in layer.durations}
    return encode_block(_kind(layer), {**kept, **whole}, meta)


def _kind(layer: SumLayer) -> BlockKind:
    keys = [BlockColumn(name, "i32", "key") for name in layer.keys]
    sums = [BlockColumn(name, "f64", "sum") for name in layer.sums]
    columns = (*keys, BlockColumn("bin", "u8", "index of the bin in the tile"), *sums)
    return BlockKind(layer.name, "sums by keys and bin", columns, ("level", "index"))
