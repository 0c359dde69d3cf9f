"""Tiles with one value of each worker, in bins eight times as wide as the level's.

They compare all workers of a large cluster in little room. A tile of a higher level is made from the two
below it, and of each worker's prefixes the one that it computed longest is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.bins import Integers, first_places, sort_order, split_spans
from observatory.replay.tiles.drawn_samples import drawn_samples
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import BINS, TileId
from observatory.replay.tiles.rounding import rounded
from observatory.store.blocks.timeline_blocks import decode_array, encode_block
from observatory.store.queries import timeline
from observatory.store.series.counters import Floats
from observatory.wire.blocks import decode
from observatory.wire.layers import LAYERS, SPANS
from observatory.wire.records import Status
from observatory.wire.timeline_blocks import WORKER_BUSY, WORKER_VALUE, BlockKind

SHIFT = 3
WIDE_BINS = BINS >> SHIFT
"""of a tile"""
METRICS = {
    **LAYERS,
    "gil": ("dask_worker_gil_contention_seconds_total", *LAYERS["gil"]),
    "gpu": ("observatory_worker_gpu_utilization_percent",),
}
"""by layer, the best first: a counter misses nothing between two samples"""
BITS = 10
"""of a number's fraction: three digits"""

Children = Sequence[tuple[TileId, bytes]]


@dataclass(frozen=True, slots=True)
class WorkerValues:
    """The columns of a block `worker-value`; unique by worker and bin, sorted."""

    worker: Integers
    bin: Integers
    mean: Floats
    count: Integers


@dataclass(frozen=True, slots=True)
class WorkerBusy:
    """The columns of a block `worker-busy`; unique by worker and bin, sorted."""

    worker: Integers
    bin: Integers
    busy: Floats
    prefix: Integers
    seconds: Floats
    tasks: Floats
    longest: Floats
    errors: Integers


def series_of(connection: psycopg.Connection, scope: Scope, layer: Layer) -> list[timeline.WorkerSeries]:
    """Return the series that has the value of each worker."""
    return timeline.worker_series(connection, scope.cluster.pk, METRICS[layer.name])


def from_rows(
    connection: psycopg.Connection,
    scope: Scope,
    layer: Layer,
    tile_id: TileId,
    series: Sequence[timeline.WorkerSeries],
) -> bytes:
    """Return the block of a tile, made from rows; `series` are those of series_of."""
    if layer.name != SPANS:
        return _encode(WORKER_VALUE, _values(connection, scope, tile_id, series), tile_id)
    rows = timeline.work(connection, scope.cluster.pk, *scope.clip(tile_id))
    return _encode(WORKER_BUSY, bin_work(rows, tile_id, scope.window), tile_id)


def from_children(layer: Layer, tile_id: TileId, children: Children) -> bytes:
    """Return the block of a tile, made from those of none, one or two children."""
    if layer.name == SPANS:
        return _encode(WORKER_BUSY, merge_busy(_parts(WORKER_BUSY, WorkerBusy, children)), tile_id)
    return _encode(WORKER_VALUE, merge_values(_parts(WORKER_VALUE, WorkerValues, children)), tile_id)


def bin_work(rows: dict[str, timeline.Array], tile_id: TileId, window: tuple[int, int]) -> WorkerBusy:
    """Bin spans (columns of timeline.WORK_TYPES), clipped to `window` (microseconds)."""
    start, stop = np.clip(rows["start"], *window), np.clip(rows["stop"], *window)
    row, bins, overlap = split_spans(start, stop, tile_id, tile_id.level + SHIFT)
    length = (rows["stop"] - rows["start"])[row]
    ends = (np.maximum(stop - 1, start) - tile_id.start) >> (tile_id.level + SHIFT)
    ends_here = ends[row] == bins
    seconds = overlap / 1e6
    share = np.where(length > 0, overlap / np.maximum(length, 1), 1.0)
    found = WorkerBusy(
        rows["worker"][row],
        bins,
        busy=seconds,
        prefix=rows["prefix"][row],
        seconds=seconds,
        tasks=share,
        longest=length / 1e6,
        errors=(ends_here & (rows["status"] == Status.ERROR)[row]).astype(np.int64),
    )
    return merge_busy([found])


def merge_busy(parts: Sequence[WorkerBusy]) -> WorkerBusy:
    """Add up the rows of each worker and bin; of their prefixes the one with most seconds is kept."""
    rows = _joined(WorkerBusy, parts)
    if not len(rows["worker"]):
        return WorkerBusy(**rows)
    order = sort_order(rows["worker"], rows["bin"], rows["prefix"])
    rows = {name: column[order] for name, column in rows.items()}
    of_prefix = first_places(rows["worker"], rows["bin"], rows["prefix"])
    summed = ("busy", "seconds", "tasks", "errors")
    rows |= {name: np.add.reduceat(rows[name], of_prefix) for name in summed}
    rows["longest"] = np.maximum.reduceat(rows["longest"], of_prefix)
    rows |= {name: rows[name][of_prefix] for name in ("worker", "bin", "prefix")}
    firsts = first_places(rows["worker"], rows["bin"])
    sums = {name: np.add.reduceat(rows[name], firsts) for name in ("busy", "errors")}
    longest = _places_of_most(rows["seconds"], firsts)
    return WorkerBusy(**{name: column[longest] for name, column in rows.items() if name not in sums}, **sums)


def _places_of_most(values: Floats, firsts: Integers) -> Integers:
    """Return the place of the highest value of each group, the first of equal ones."""
    group = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(values)))
    is_most = np.flatnonzero(values == np.maximum.reduceat(values, firsts)[group])
    return is_most[first_places(group[is_most])]


def merge_values(parts: Sequence[WorkerValues]) -> WorkerValues:
    """Join the rows of each worker and bin to their mean."""
    rows = _joined(WorkerValues, parts)
    if not len(rows["worker"]):
        return WorkerValues(**rows)
    order = sort_order(rows["worker"], rows["bin"])
    worker, bins, mean, count = (rows[field.name][order] for field in fields(WorkerValues))
    firsts = first_places(worker, bins)
    counts = np.add.reduceat(count, firsts)
    return WorkerValues(worker[firsts], bins[firsts], np.add.reduceat(mean * count, firsts) / counts, counts)


def _values(
    connection: psycopg.Connection, scope: Scope, tile_id: TileId, found: Sequence[timeline.WorkerSeries]
) -> WorkerValues:
    start, stop = scope.clip(tile_id)
    series, time, value = drawn_samples(connection, scope, found, start, stop)
    inside = (time >= start) & (time < stop) & np.isfinite(value)
    numbers = np.array([one.id for one in found], np.int64)
    workers = np.array([one.worker for one in found], np.int64)
    worker = workers[np.searchsorted(numbers, series[inside])]
    bins = (time[inside] - tile_id.start) >> (tile_id.level + SHIFT)
    return merge_values([WorkerValues(worker, bins, value[inside], np.ones(len(worker), np.int64))])


def _parts(kind: BlockKind, part: Any, children: Children) -> list[Any]:
    found = []
    for child, body in children:
        for block in decode(body):
            if block.kind == kind.name and block.rows:
                rows = {column.name: decode_array(block, column.name) for column in kind.columns}
                rows["bin"] = (rows["bin"] >> 1) + (WIDE_BINS // 2 if child.index % 2 else 0)
                found.append(part(**rows))
    return found


def _joined(part: Any, parts: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
    if len(parts) == 1:
        return {field.name: getattr(parts[0], field.name) for field in fields(part)}
    return {
        field.name: np.concatenate([getattr(one, field.name) for one in parts] or [np.zeros(0, np.int64)])
        for field in fields(part)
    }


def _encode(kind: BlockKind, rows: WorkerValues | WorkerBusy, tile_id: TileId) -> bytes:
    columns = {column.name: getattr(rows, column.name) for column in kind.columns}
    short = {
        column.name: rounded(columns[column.name], BITS) for column in kind.columns if column.type == "f32"
    }
    return encode_block(kind, {**columns, **short}, {"level": tile_id.level, "index": tile_id.index})
