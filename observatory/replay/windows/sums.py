"""Sums of a window or of its bins: of few rows from these, of many from few tiles and rows at its edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import BASE_LEVEL, FEW_SUMMED_ROWS, covering_tile_ids, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.replay.tiles.sums import SUM_BINS, SUM_BINS_SHIFT, bin_width, merge_sums, read_sums
from observatory.store.queries.extents import read_extent
from observatory.store.queries.sums.sum_layer import REST, Bins, Columns, SumLayer

MOST_BINS = 160
"""of a window; tiles have eight each"""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of [start, stop) (microseconds): what of a window was recorded and is in the scope."""

    start: int
    stop: int
    columns: Columns
    """keys and sums, a row for each combination of keys, sorted"""
    is_complete: bool
    """whether each key has all of its sums; else the smallest are in rows with the key REST"""
    has_few_rows: bool
    """whether the window has at most FEW_SUMMED_ROWS, from which the sums were made"""


@dataclass(frozen=True, slots=True)
class BinnedSums:
    """Sums of the bins of a window, clipped to it. Times are in microseconds."""

    first: int
    """start of the first bin, which can be before the window's"""
    width: int
    bins: int
    columns: Columns
    """keys, `bin` and sums"""


def sums(connection: psycopg.Connection, scope: Scope, layer: SumLayer, start: int, stop: int) -> Sums:
    """Return the sums of a window (microseconds), clipped to the scope."""
    start, stop = recorded_part(connection, scope, start, stop)
    if start >= stop:
        return _sums(layer, start, start, [], has_few_rows=True)
    if not layer.has_more(connection, scope.cluster.pk, start, stop, FEW_SUMMED_ROWS):
        rows = _of_rows(connection, scope, layer, start, stop)
        return _sums(layer, start, stop, [rows], has_few_rows=True)
    parts = [
        part
        for tile_id in covering_tile_ids(start / 1e6, (stop - 1) / 1e6)
        for part in _parts(connection, scope, layer, tile_id, start, stop)
    ]
    return _sums(layer, start, stop, parts, has_few_rows=False)


def binned_sums(
    connection: psycopg.Connection, scope: Scope, layer: SumLayer, start: int, stop: int
) -> BinnedSums:
    """Return the sums of each bin of a window (microseconds), clipped to the scope; at most MOST_BINS + 1."""
    start, stop = recorded_part(connection, scope, start, stop)
    if start >= stop:
        return BinnedSums(start, 1, 0, merge_sums(layer, []))
    has_more = layer.has_more(connection, scope.cluster.pk, start, stop, FEW_SUMMED_ROWS)
    level = level_of_bins(start, stop, has_more)
    width = bin_width(TileId(level, 0))
    first, last = start // width, -(-stop // width)
    if has_more:
        parts = list(_binned_parts(connection, scope, layer, level, start, stop))
    else:
        parts = [layer.read(connection, scope.cluster.pk, Bins(start, stop, first * width, width))]
    return BinnedSums(first * width, width, last - first, merge_sums(layer, parts))


def level_of_bins(start: int, stop: int, has_more: bool) -> int:
    """The level whose bins a window is divided into; `has_more`: it has over FEW_SUMMED_ROWS."""
    return next(
        level
        for level in range(BASE_LEVEL if has_more else MINIMUM_LEVEL, MAXIMUM_LEVEL + 1)
        if bin_width(TileId(level, 0)) * MOST_BINS >= stop - start
    )


def _binned_parts(
    connection: psycopg.Connection, scope: Scope, layer: SumLayer, level: int, start: int, stop: int
) -> Iterator[Columns]:
    """Yield the sums of the bins of a level, numbered from that of `start` on."""
    width = bin_width(TileId(level, 0))
    first, last = start // width, (stop - 1) // width
    whole = range(-(-start // width), stop // width)
    for tile in range(whole.start // SUM_BINS, -(-whole.stop // SUM_BINS)) if whole else ():
        body = get_tile(connection, Scope(scope.cluster), Layer(layer.name), TileId(level, tile)).body
        rows = read_sums(layer, body)
        bins = rows["bin"] + tile * SUM_BINS
        inside = (bins >= whole.start) & (bins < whole.stop)
        yield {name: column[inside] for name, column in {**rows, "bin": bins - first}.items()}
    for edge in {first, last} - set(whole):
        begin, end = max(start, edge * width), min(stop, (edge + 1) * width)
        columns = sums(connection, scope, layer, begin, end).columns
        bins = np.full(len(columns[layer.keys[0]]), edge - first)
        yield {**columns, "bin": bins}


def recorded_part(connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> tuple[int, int]:
    """Return what of a window (µs) was recorded and is in the scope; start equals stop where nothing is."""
    start = max(start, scope.start)
    extent = read_extent(connection, scope.cluster.pk)
    if extent is None:
        return start, start
    start = max(start, round(extent.first * 1e6))
    return start, max(start, min(stop, scope.stop, round(extent.last * 1e6) + 1))


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


def _sums(layer: SumLayer, start: int, stop: int, parts: list[Columns], *, has_few_rows: bool) -> Sums:
    whole = [{**part, "bin": 0 * part["bin"]} for part in parts]
    columns = merge_sums(layer, whole)
    del columns["bin"]
    is_complete = all(not (columns[name] == REST).any() for name in layer.named)
    return Sums(start, stop, columns, is_complete, has_few_rows)
