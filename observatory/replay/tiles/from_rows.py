"""Builds tiles of the lower levels from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles import each_worker, sums
from observatory.replay.tiles.bins import (
    MINIMUM_SPAN_BINS,
    BusyBins,
    SeriesBins,
    bin_samples,
    bin_spans,
    is_short,
    merge_series_bins,
)
from observatory.replay.tiles.drawn_samples import drawn_samples
from observatory.replay.tiles.events import event_blocks_from_rows
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.profiles import ProfileBins, merge_profile_bins, profile_block
from observatory.replay.tiles.rounding import rounded
from observatory.store.blocks.timeline_blocks import encode_block, encode_rows
from observatory.store.queries import timeline
from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.store.queries.windows import row_counts
from observatory.wire.layers import EVENTS, LAYERS, OF_WORKERS, PREFIXES, PROFILE, SPANS
from observatory.wire.timeline_blocks import BUSY, SERIES_BIN, SPAN, BlockKind

BITS_OF_SECONDS = 8
"""of busy seconds: an error of 0.2 % is less than a pixel"""
BITS_OF_VALUES = 13
"""of workers' values: four digits. There is a series of each worker, so they are most of a large cluster's"""
FEW_STARTS = 1_000
"""start times of spans that are looked up one by one; for more, all spans of the window are read again"""

DrawnSeries = Sequence[timeline.LayerSeries] | Sequence[timeline.WorkerSeries]
"""of a layer, of which one tells workers apart"""


def series_of(connection: psycopg.Connection, scope: Scope, layer: Layer) -> DrawnSeries:
    """Return the series of a layer of samples, sorted by id; none of another layer."""
    if layer.name not in LAYERS:
        return []
    if layer.is_each:
        return each_worker.series_of(connection, scope, layer)
    return timeline.layer_series(connection, scope.cluster.pk, LAYERS[layer.name], layer.band)


def tile_from_rows(
    connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId, series: DrawnSeries
) -> bytes:
    """Return the blocks of a tile, without the extent block; `series` are those of the layer."""
    if layer.is_each:
        of_workers = cast(Sequence[timeline.WorkerSeries], series)
        return each_worker.from_rows(connection, scope, layer, tile_id, of_workers)
    if layer.is_sum:
        return sums.from_rows(connection, scope, layer, tile_id)
    if layer.name == SPANS:
        return _spans(connection, scope, layer.band or 0, tile_id)
    if layer.name == PREFIXES:
        return _prefixes(connection, scope, tile_id)
    if layer.name == EVENTS:
        return event_blocks_from_rows(connection, scope, tile_id)
    if layer.name == PROFILE:
        return _profile(connection, scope, tile_id)
    return _series(connection, scope, layer, tile_id, cast(Sequence[timeline.LayerSeries], series))


def has_few_rows(
    connection: psycopg.Connection,
    scope: Scope,
    layer: Layer,
    tile_id: TileId,
    series: DrawnSeries,
    most: int,
) -> bool:
    """Return whether `tile_from_rows` would read at most so many rows, without spans that started before."""
    window = (connection, scope.cluster.pk, *scope.clip(tile_id))
    if layer.is_sum:
        return not SUM_LAYERS[layer.name].has_more(*window, most)
    if layer.name == SPANS:
        band = layer.band
        lanes = None if band is None else timeline.lanes_of_band(connection, scope.cluster.pk, band)
        return not row_counts.has_more_spans(*window, lanes, most)
    if layer.name == PREFIXES:
        return not row_counts.has_more_spans(*window, None, most)
    if layer.name == EVENTS:
        return not row_counts.has_more_events(*window, most)
    if layer.name == PROFILE:
        return not row_counts.has_more_profile_rows(*window, most)
    return not row_counts.has_more_samples(*window, [one.id for one in series], most)


def _spans(connection: psycopg.Connection, scope: Scope, band: int, tile_id: TileId) -> bytes:
    cluster, window = scope.cluster.pk, scope.clip(tile_id)
    lanes = timeline.lanes_of_band(connection, cluster, band)
    rows = timeline.spans(connection, cluster, *window, lanes)
    short = is_short(rows["start"], rows["stop"], tile_id)
    binned = {name: column[short] for name, column in rows.items()}
    blocks = [_busy_block(binned, binned["lane"], tile_id, scope)]
    if not short.all():
        shortest = MINIMUM_SPAN_BINS * tile_id.bin_width
        starts = np.unique(rows["start"][~short]).tolist()
        known = starts if len(starts) <= FEW_STARTS else ()
        long = timeline.long_spans(connection, cluster, *window, shortest, lanes, known)
        blocks.append(span_block(long))
    return b"".join(blocks)


def _prefixes(connection: psycopg.Connection, scope: Scope, tile_id: TileId) -> bytes:
    rows = timeline.spans(connection, scope.cluster.pk, *scope.clip(tile_id))
    return _busy_block(rows, np.zeros(len(rows["lane"]), np.int64), tile_id, scope)


def _busy_block(
    rows: dict[str, timeline.Array], lane: timeline.Array, tile_id: TileId, scope: Scope
) -> bytes:
    spans = (lane, rows["prefix"], rows["action"], rows["start"], rows["stop"])
    return busy_block(bin_spans(*spans, tile_id, scope.window), tile_id)


def busy_block(busy: BusyBins, tile_id: TileId) -> bytes:
    """Encode the busy bins of a tile."""
    columns = {**_columns(BUSY, busy), "seconds": rounded(busy.seconds, BITS_OF_SECONDS)}
    return encode_block(BUSY, columns, {"level": tile_id.level, "index": tile_id.index})


def span_block(rows: list[tuple[object, ...]]) -> bytes:
    """Encode the rows of store.queries.timeline.long_spans."""
    return encode_rows(SPAN, rows)


def _profile(connection: psycopg.Connection, scope: Scope, tile_id: TileId) -> bytes:
    rows = timeline.profile_rows(connection, scope.cluster.pk, *scope.clip(tile_id))
    worker, prefix, source, stack = rows["worker"], rows["prefix"], rows["source"], rows["stack"]
    found = ProfileBins(rows["time"], worker, prefix, source, stack, rows["count"])
    return profile_block(merge_profile_bins([found], tile_id), tile_id)


def _series(
    connection: psycopg.Connection,
    scope: Scope,
    layer: Layer,
    tile_id: TileId,
    found: Sequence[timeline.LayerSeries],
) -> bytes:
    start, stop = scope.clip(tile_id)
    numbers = np.array([series.id for series in found], np.int64)
    series, time, value = drawn_samples(connection, scope, found, start, stop)
    bins = bin_samples(series, time, value, tile_id)
    if layer.band is None:
        firsts = np.array([series.first for series in found], np.int64)
        bins = merge_series_bins(
            [replace(bins, series=firsts[np.searchsorted(numbers, bins.series)])], tile_id
        )
    return bin_block(bins, layer, tile_id)


def bin_block(bins: SeriesBins, layer: Layer, tile_id: TileId) -> bytes:
    """Encode the bins of a tile of series."""
    columns = {**_columns(SERIES_BIN, bins), "time": bins.time / 1e6}
    if layer.name in OF_WORKERS:
        columns |= {name: rounded(columns[name], BITS_OF_VALUES) for name in ("min", "max", "mean", "last")}
    meta = {"level": tile_id.level, "index": tile_id.index, "layer": str(layer)}
    return encode_block(SERIES_BIN, columns, meta)


def _columns(kind: BlockKind, bins: BusyBins | SeriesBins) -> dict[str, timeline.Array]:
    return {column.name: getattr(bins, column.name) for column in kind.columns}
