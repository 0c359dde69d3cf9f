"""Sums of a window: of few rows from these, of many from few tiles and the rows at the window's edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import BASE_LEVEL, covering_tile_ids, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.sums import SUM_BINS_SHIFT, bin_width, merge_sums, read_sums
from observatory.store.queries.extents import read_extent
from observatory.store.queries.sums.sum_layer import REST, Bins, Columns, SumLayer

FEW_ROWS = 20_000
"""that are read themselves"""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of [start, stop) (microseconds): what of a window was recorded and is in the scope."""

    start: int
    stop: int
    columns: Columns
    """keys and sums, a row for each combination of keys, sorted"""
    is_complete: bool
    """whether each key has all of its sums; else the smallest are in rows with the key REST"""


def sums(connection: psycopg.Connection, scope: Scope, layer: SumLayer, start: int, stop: int) -> Sums:
    """Return the sums of a window (microseconds), clipped to the scope."""
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None:
        return _sums(layer, start, start, [])
    start = max(start, scope.start, round(extent.first * 1e6))
    stop = min(stop, scope.stop, round(extent.last * 1e6) + 1)
    if start >= stop:
        return _sums(layer, start, start, [])
    if not layer.has_more(connection, scope.cluster.pk, start, stop, FEW_ROWS):
        return _sums(layer, start, stop, [_of_rows(connection, scope, layer, start, stop)])
    parts = [
        part
        for tile_id in covering_tile_ids(start / 1e6, (stop - 1) / 1e6)
        for part in _parts(connection, scope, layer, tile_id, start, stop)
    ]
    return _sums(layer, start, stop, parts)


def _parts(
    connection: psycopg.Connection, scope: Scope, layer: SumLayer, tile_id: TileId, start: int, stop: int
) -> Iterator[Columns]:
    """Yield the sums of [start, stop) in a tile: of its whole bins, and of the parts of bins at the edges."""
    start, stop = max(start, tile_id.start), min(stop, tile_id.stop)
    width = bin_width(tile_id)
    first, last = -(-start // width), stop // width
    if first < last:
        body = get_tile(connection, Scope(scope.cluster), Layer(layer.name), tile_id).body
        rows = read_sums(layer, body)
        bins = rows["bin"] + tile_id.start // width
        inside = (bins >= first) & (bins < last)
        yield {name: column[inside] for name, column in rows.items()}
    edges = [(start, first * width), (last * width, stop)] if first <= last else [(start, stop)]
    for begin, end in edges:
        if begin >= end:
            continue
        if tile_id.level == BASE_LEVEL:
            yield _of_rows(connection, scope, layer, begin, end)
        else:
            level = max(tile_id.level - SUM_BINS_SHIFT, BASE_LEVEL)
            yield from _parts(connection, scope, layer, TileId.at(level, begin), begin, end)


def _of_rows(connection: psycopg.Connection, scope: Scope, layer: SumLayer, start: int, stop: int) -> Columns:
    return layer.read(connection, scope.cluster.pk, Bins.of_window(start, stop))


def _sums(layer: SumLayer, start: int, stop: int, parts: list[Columns]) -> Sums:
    whole = [{**part, "bin": 0 * part["bin"]} for part in parts]
    columns = merge_sums(layer, whole)
    del columns["bin"]
    is_complete = all(not (columns[name] == REST).any() for name in layer.named)
    return Sums(start, stop, columns, is_complete)
