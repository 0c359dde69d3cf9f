"""Publishes what was committed to open pages: the blocks of docs/blocks.md, over Channels."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from prometheus_client import Counter

from observatory.store.blocks.live_frames import group_of, joined
from observatory.store.blocks.timeline_blocks import encode_block, extent_block
from observatory.store.ingest.batches.record_columns import Array
from observatory.store.ingest.publishing.committed import (
    Committed,
    Item,
    LiveSamples,
    StoredEvents,
    StoredProfiles,
    StoredSpans,
)
from observatory.store.ingest.publishing.open_pages import has_open_pages
from observatory.store.series.counters import counter_rates
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.layers import ALL, BAND, OF_WORKERS, SPANS, band_layer
from observatory.wire.timeline_blocks import EVENT, ITEMS, PROFILE_ROWS, SERIES_BIN, SPAN

log = logging.getLogger(__name__)

SPANS_PER_BLOCK = 5_000
"""a span of a usual key has under 200 bytes"""
STACKS_PER_BLOCK = 30_000
"""of 25 bytes"""
MOST_PREFIXES = 1_000
"""new ones of a batch; pages ask for the names of others when they draw them"""
Columns = dict[str, Any]
"""the columns of a block by name"""

LOST = Counter("observatory_live_frames_lost_total", "Frames of live blocks that open pages didn't get")


async def publish(
    committed: Committed, status: Mapping[str, Any] | None = None, intervals: SampleIntervals | None = None
) -> None:
    """Sends the frames of a committed batch. Errors are logged, and the lost frames counted in LOST.

    `status` has the values of the extent block from Django: ended (seconds or None), end_reason, stream.
    What the caller doesn't know stays as open pages have it.
    """
    sent = list(frames(committed, status or {}, intervals or SampleIntervals()))
    layer = get_channel_layer()
    for number, data in enumerate(sent):
        try:
            await layer.group_send(group_of(committed.extent.cluster), {"type": "live.frame", "data": data})
        except Exception as error:  # whatever the broker's client raises: the batch is stored
            LOST.inc(len(sent) - number)
            _delivery.failed(error)
            return
    _delivery.succeeded()


def publish_sync(
    committed: Committed, status: Mapping[str, Any] | None = None, intervals: SampleIntervals | None = None
) -> bool:
    """As `publish`, for a thread without an event loop. Without open pages it sends nothing, and is False."""
    is_watched = has_open_pages(committed.extent.cluster)
    if is_watched:
        async_to_sync(publish)(committed, status, intervals)
    return is_watched


def frames(committed: Committed, status: Mapping[str, Any], intervals: SampleIntervals) -> Iterator[bytes]:
    """The committed batch as frames of about FRAME_BYTES; the extent is the last block of the last one."""
    return joined(_blocks(committed, status, intervals))


def rates(samples: LiveSamples, intervals: SampleIntervals) -> Array:
    """Return the values to draw: a gauge's value, a counter's rate per second (NaN if unknown)."""
    interval = samples.metric.numbers(intervals.of, np.float64)  # type: ignore[arg-type]
    elapsed = samples.time - samples.previous_time
    rate = counter_rates(elapsed, samples.previous_value, samples.value, interval)
    return np.where(samples.counter, rate, samples.value)


def _blocks(committed: Committed, status: Mapping[str, Any], intervals: SampleIntervals) -> Iterator[bytes]:
    series = [{**item, "interval": intervals.of(item["metric"])} for item in committed.series]
    items: dict[str, list[Item]] = {
        "worker": committed.workers,
        "lane": committed.lanes,
        "prefix": committed.prefixes[:MOST_PREFIXES],
        "series": series,
    }
    for kind in ITEMS:
        if items[kind.name]:
            yield kind.encode({}, {"items": items[kind.name]})
    if committed.spans is not None:
        for band, rows in _by_band(committed.spans):
            for start in range(0, len(rows), SPANS_PER_BLOCK):
                yield _span_block(committed.spans, rows[start : start + SPANS_PER_BLOCK], band)
    if committed.samples is not None:
        yield from _bin_blocks(committed.samples, committed.extent.workers > BAND, intervals)
    if committed.events is not None:
        yield _event_block(committed.events)
    if committed.profiles is not None:
        for start in range(0, len(committed.profiles), STACKS_PER_BLOCK):
            yield _profile_block(committed.profiles, slice(start, start + STACKS_PER_BLOCK))
    yield extent_block(committed.extent, status)


def _by_band(spans: StoredSpans) -> Iterator[tuple[int, Array]]:
    """Each band of workers with spans, and the positions of these."""
    for band in np.unique(spans.band).tolist():
        yield band, np.flatnonzero(spans.band == band)


def _span_block(spans: StoredSpans, rows: Array, band: int) -> bytes:
    texts = {name: getattr(spans, name).block_column(name, rows) for name in ("key", "typename")}
    numbers = ("lane", "prefix", "action", "status", "start", "stop", "nbytes")
    columns = {name: getattr(spans, name)[rows] for name in numbers}
    return encode_block(SPAN, {**columns, **texts}, {"layer": band_layer(SPANS, band)})


def _bin_blocks(samples: LiveSamples, is_large: bool, intervals: SampleIntervals) -> Iterator[bytes]:
    """Of each band of each layer; of a large cluster, of all workers together too."""
    values = rates(samples, intervals)
    known = ~samples.counter | ~np.isnan(values)
    for number, layer in enumerate(samples.layer.values):
        of_layer = known & (samples.layer.codes == number)
        for band in np.unique(samples.band[of_layer]).tolist():
            rows = np.flatnonzero(of_layer & (samples.band == band))
            meta = {"layer": band_layer(layer, band)}
            yield encode_block(SERIES_BIN, _bins(samples, values, rows), meta)
    for layer in OF_WORKERS if is_large else ():
        of_layer = known & samples.layer.numbers(lambda name: name == layer, np.bool_)  # noqa: B023
        if of_layer.any():
            sums = _sums(samples, values, np.flatnonzero(of_layer))
            yield encode_block(SERIES_BIN, sums, {"layer": f"{layer}.{ALL}"})


def _bins(samples: LiveSamples, values: Array, rows: Array) -> Columns:
    """Each sample as a bin of its own."""
    drawn = values[rows]
    return {
        "series": samples.series[rows],
        "time": samples.time[rows],
        **dict.fromkeys(("min", "max", "mean", "last"), drawn),
        "count": np.ones(len(rows)),
    }


def _sums(samples: LiveSamples, values: Array, rows: Array) -> Columns:
    """The samples of the same metric and labels of all workers as one bin."""
    order = rows[np.lexsort((-rows, samples.time[rows], samples.first[rows]))]
    series, starts, counts = np.unique(samples.first[order], return_index=True, return_counts=True)
    newest = order[starts + counts - 1]
    drawn = values[order]
    return {
        "series": series,
        "time": samples.time[newest],
        "min": np.minimum.reduceat(drawn, starts),
        "max": np.maximum.reduceat(drawn, starts),
        "mean": np.add.reduceat(drawn, starts) / counts,
        "last": values[newest],
        "count": counts,
    }


def _event_block(events: StoredEvents) -> bytes:
    every = np.arange(len(events))
    texts = {name: getattr(events, name).block_column(name, every) for name in ("kind", "message", "detail")}
    return encode_block(EVENT, {"time": events.time, "worker": events.worker, **texts})


def _profile_block(profiles: StoredProfiles, rows: slice) -> bytes:
    return encode_block(
        PROFILE_ROWS, {column.name: getattr(profiles, column.name)[rows] for column in PROFILE_ROWS.columns}
    )


@dataclass(slots=True)
class _Delivery:
    """Logs once that the broker is unreachable, and once that it is back."""

    broken: bool = False

    def failed(self, error: Exception) -> None:
        if not self.broken:
            log.warning("live pages get nothing until Redis answers again (what comes is stored): %s", error)
        self.broken = True

    def succeeded(self) -> None:
        if self.broken:
            log.warning("live pages get what is committed again")
        self.broken = False


_delivery = _Delivery()
