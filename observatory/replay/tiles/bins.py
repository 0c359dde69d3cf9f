"""Bins spans and samples: busy time of each lane, and statistics of each series, by bin of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from observatory.replay.tiles.levels import BINS, TileId
from observatory.store.series.counters import Floats, counter_rates

Integers = npt.NDArray[np.int64]

MINIMUM_SPAN_BINS = 2
"""bins: spans at least this long are sent themselves, shorter ones binned"""
LARGEST_KEY = 2**63 - 1
"""of int64"""


@dataclass(frozen=True, slots=True)
class BusyBins:
    """Busy seconds and started spans by (lane, bin, prefix, action); sorted and unique."""

    lane: Integers
    bin: Integers
    prefix: Integers
    action: Integers
    seconds: Floats
    count: Integers


def is_short(start: Integers, stop: Integers, tile_id: TileId) -> npt.NDArray[np.bool_]:
    """Return which spans (microseconds) are binned at the tile's level rather than sent themselves."""
    return np.asarray(stop - start < MINIMUM_SPAN_BINS * tile_id.bin_width)


def bin_spans(
    lane: Integers,
    prefix: Integers,
    action: Integers,
    start: Integers,
    stop: Integers,
    tile_id: TileId,
    window: tuple[int, int],
) -> BusyBins:
    """Bin spans (start and stop in microseconds) by their exact overlap, clipped to `window`.

    A span is counted in the bin where it starts, so it counts once over all tiles of a level.
    """
    start, stop = np.clip(start, *window), np.clip(stop, *window)
    inside = (start < tile_id.stop) & (np.maximum(stop, start + 1) > tile_id.start)
    lane, prefix, action, start, stop = (column[inside] for column in (lane, prefix, action, start, stop))
    overlaps = np.minimum(stop, tile_id.stop) - np.maximum(start, tile_id.start)
    parts = int(np.sum(overlaps >> tile_id.level))
    if parts > BINS:
        group, firsts = _groups(lane, prefix, action)
        if parts > BINS * len(firsts):
            keys = (lane[firsts], prefix[firsts], action[firsts])
            return _sum_spans(keys, group, start, stop, tile_id)
    row, bins, overlap = split_spans(start, stop, tile_id, tile_id.level)
    bin_start = tile_id.start + (bins << tile_id.level)
    starts_here = (start[row] >= bin_start) & (start[row] < bin_start + tile_id.bin_width)
    found = BusyBins(lane[row], bins, prefix[row], action[row], overlap / 1e6, starts_here.astype(np.int64))
    return merge_busy_bins([found])


def _groups(*columns: Integers) -> tuple[Integers, Integers]:
    """Return the number of each row's group of equal rows, and the place of a row of each group."""
    order = sort_order(*columns)
    firsts = first_places(*(column[order] for column in columns))
    group = np.empty_like(order)
    group[order] = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(order))))
    return group, order[firsts]


def _sum_spans(
    keys: tuple[Integers, Integers, Integers],
    group: Integers,
    start: Integers,
    stop: Integers,
    tile_id: TileId,
) -> BusyBins:
    """Bin spans that have more parts than all groups have bins, without splitting them.

    Lane, prefix and action of each group are `keys`. A start adds the rest of its bin and all of each later
    one; a stop takes them away again.
    """
    shape = (len(keys[0]), BINS)

    def sums(of: Integers, time: Integers, amount: Integers) -> Integers:
        place = of * BINS + ((time - tile_id.start) >> tile_id.level)
        return np.bincount(place, amount, shape[0] * BINS).reshape(shape).astype(np.int64)

    def counts(of: Integers, time: Integers) -> Integers:
        return sums(of, time, np.ones_like(time))

    def busy_after(of: Integers, time: Integers) -> Integers:
        rest = tile_id.bin_width - (time - tile_id.start) % tile_id.bin_width
        before = counts(of, time)
        return sums(of, time, rest) + tile_id.bin_width * (np.cumsum(before, axis=1) - before)

    ends, begins = stop < tile_id.stop, start >= tile_id.start
    busy = busy_after(group, np.maximum(start, tile_id.start)) - busy_after(group[ends], stop[ends])
    count = counts(group[begins], start[begins])
    of, bins = np.nonzero((busy > 0) | (count > 0))
    lane, prefix, action = (key[of] for key in keys)
    found = BusyBins(lane, bins, prefix, action, busy[of, bins] / 1e6, count[of, bins])
    return merge_busy_bins([found])


def split_spans(
    start: Integers, stop: Integers, tile_id: TileId, level: int
) -> tuple[Integers, Integers, Integers]:
    """Split spans (microseconds) at the bins of a tile, which are 2^level microseconds wide.

    Returns the places of the parts' spans, their bins, and how long each part is. An empty span has one part.
    """
    first = (np.maximum(start, tile_id.start) - tile_id.start) >> level
    last = (np.minimum(np.maximum(stop, start + 1), tile_id.stop) - 1 - tile_id.start) >> level
    repeats = np.maximum(last - first + 1, 0)
    row = np.repeat(np.arange(len(start)), repeats)
    step = np.arange(len(row)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    bins = first[row] + step
    bin_start = tile_id.start + (bins << level)
    overlap = np.minimum(stop[row], bin_start + (1 << level)) - np.maximum(start[row], bin_start)
    return row, bins, np.maximum(overlap, 0)


def sort_order(*columns: Integers) -> Integers:
    """Return the order of rows, at least one, by their columns; the first column counts most.

    One sort by all columns together takes a third of the time of a sort by each.
    """
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        lowest, highest = int(column.min()), int(column.max())
        size *= highest - lowest + 1
        if size > LARGEST_KEY:
            return np.lexsort(columns[::-1])
        key = key * (highest - lowest + 1) + (column - lowest)
    return np.argsort(key, kind="stable")


def first_places(*columns: Integers) -> Integers:
    """Return the places where one of sorted columns changes, which aren't empty."""
    changes = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def merge_busy_bins(parts: Sequence[BusyBins]) -> BusyBins:
    """Add up bins of one tile."""
    if not parts:
        empty = np.zeros(0, np.int64)
        return BusyBins(empty, empty, empty, empty, np.zeros(0), empty)
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("lane", "bin", "prefix", "action")
    ]
    seconds = np.concatenate([part.seconds for part in parts])
    count = np.concatenate([part.count for part in parts])
    if not len(count):
        return parts[0]
    order = sort_order(*columns)
    columns = [column[order] for column in columns]
    firsts = first_places(*columns)
    lane, bins, prefix, action = (column[firsts] for column in columns)
    seconds, count = np.add.reduceat(seconds[order], firsts), np.add.reduceat(count[order], firsts)
    return BusyBins(lane, bins, prefix, action, seconds, count)


@dataclass(frozen=True, slots=True)
class SeriesBins:
    """Statistics of each series in each bin with samples; `time` is the last sample's (microseconds)."""

    series: Integers
    time: Integers
    min: Floats
    max: Floats
    mean: Floats
    last: Floats
    count: Integers


def bin_samples(series: Integers, time: Integers, value: Floats, tile_id: TileId) -> SeriesBins:
    """Bin the samples in the tile; they are sorted by series and time (microseconds), NaN is skipped."""
    inside = (time >= tile_id.start) & (time < tile_id.stop) & ~np.isnan(value)
    series, time, value = series[inside], time[inside], value[inside]
    if not len(series):
        no_integers, no_floats = np.zeros(0, np.int64), np.zeros(0)
        return SeriesBins(no_integers, no_integers, no_floats, no_floats, no_floats, no_floats, no_integers)
    bins = (time - tile_id.start) >> tile_id.level
    changes = (series[1:] != series[:-1]) | (bins[1:] != bins[:-1])
    firsts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    lasts = np.concatenate([firsts[1:], [len(series)]]) - 1
    count = lasts - firsts + 1
    return SeriesBins(
        series[firsts],
        time[lasts],
        np.minimum.reduceat(value, firsts),
        np.maximum.reduceat(value, firsts),
        np.add.reduceat(value, firsts) / count,
        value[lasts],
        count,
    )


def merge_series_bins(parts: Sequence[SeriesBins], tile_id: TileId) -> SeriesBins:
    """Merge bins of smaller tiles into the wider bins of `tile_id`."""
    names = ("series", "time", "min", "max", "mean", "last", "count")
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0, np.int64)])
        for name in names
    }
    if not len(columns["series"]):
        return SeriesBins(*columns.values())
    order = np.lexsort((columns["time"], columns["series"]))
    series, time, low, high, mean, last, count = (columns[name][order] for name in names)
    bins = (time - tile_id.start) >> tile_id.level
    changes = (series[1:] != series[:-1]) | (bins[1:] != bins[:-1])
    firsts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    lasts = np.concatenate([firsts[1:], [len(series)]]) - 1
    counts = np.add.reduceat(count, firsts)
    return SeriesBins(
        series[firsts],
        time[lasts],
        np.minimum.reduceat(low, firsts),
        np.maximum.reduceat(high, firsts),
        np.add.reduceat(mean * count, firsts) / counts,
        last[lasts],
        counts,
    )


def rates(series: Integers, time: Integers, value: Floats, interval: Floats) -> Floats:
    """Return counters' rates per second; NaN for the first sample of a series and after gaps.

    Samples are sorted by series and time (microseconds); `interval` has their sampling intervals (seconds).
    """
    found = np.full(len(value), np.nan)
    elapsed = np.where(series[1:] == series[:-1], (time[1:] - time[:-1]) / 1e6, 0.0)
    found[1:] = counter_rates(elapsed, value[:-1], value[1:], interval[1:])
    return found
