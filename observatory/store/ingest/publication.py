"""Publishes what was committed to open pages: the blocks of docs/blocks.md, over Channels."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from prometheus_client import Counter

from observatory.store.ingest.committed import (
    Committed,
    Item,
    LiveSamples,
    StoredEvents,
    StoredProfiles,
    StoredSpans,
)
from observatory.store.ingest.intervals import Intervals
from observatory.store.ingest.records import Array
from observatory.wire.blocks import Column, encode
from observatory.wire.layers import ALL, BAND, OF_WORKERS, SPANS, band_layer

log = logging.getLogger(__name__)

FRAME_BYTES = 1_000_000
SPANS_PER_BLOCK = 5_000
"""a span of a usual key has under 200 bytes"""
STACKS_PER_BLOCK = 30_000
"""of 25 bytes"""
GAP = 3.0
"""intervals between two samples of a counter beyond which its rate is unknown"""

Bins = dict[str, Array]
"""the columns of a block of kind bin"""
BIN_TYPES = {
    "series": "u32",
    "time": "f64",
    "min": "f64",
    "max": "f64",
    "mean": "f64",
    "last": "f64",
    "count": "u32",
}
NUMPY = {"u32": np.uint32, "i32": np.int32, "u8": np.uint8, "f64": np.float64}

LOST = Counter("observatory_live_frames_lost_total", "Frames of live blocks that open pages didn't get")


def group_of(cluster: int) -> str:
    """The Channels group of a cluster's open pages. Its messages: {"type": "live.frame", "data": bytes}."""
    return f"cluster.{cluster}"


async def publish(
    committed: Committed, status: Mapping[str, Any] | None = None, intervals: Intervals | None = None
) -> None:
    """Sends the frames of a committed batch. Errors are logged, and the lost frames counted in LOST.

    `status` has the values of the extent's block from Django: ended (seconds or None), end_reason, stream.
    """
    sent = list(frames(committed, status or {}, intervals or Intervals()))
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
    committed: Committed, status: Mapping[str, Any] | None = None, intervals: Intervals | None = None
) -> None:
    """As `publish`, for a thread without an event loop."""
    async_to_sync(publish)(committed, status, intervals)


def frames(committed: Committed, status: Mapping[str, Any], intervals: Intervals) -> Iterator[bytes]:
    """The committed batch as frames of about FRAME_BYTES; the extent is the last block of the last one."""
    return joined(_blocks(committed, status, intervals))


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts in order, joined to frames of at most FRAME_BYTES, or one part where that is longer."""
    frame: list[bytes] = []
    size = 0
    for part in parts:
        if frame and size + len(part) > FRAME_BYTES:
            yield b"".join(frame)
            frame, size = [], 0
        frame.append(part)
        size += len(part)
    if frame:
        yield b"".join(frame)


def rates(samples: LiveSamples, intervals: Intervals) -> Array:
    """The values to draw. Of a counter: its growth per second since the sample before, nan if unknown.

    A counter that fell was reset (its process restarted) and has grown from 0.
    """
    elapsed = samples.time - samples.previous_time
    grown = samples.value - samples.previous_value
    gap = GAP * samples.metric.numbers(intervals.of, np.float64)  # type: ignore[arg-type]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(grown >= 0, grown, samples.value) / elapsed
        rate[~((elapsed > 0) & (elapsed <= gap))] = np.nan
    return np.where(samples.counter, rate, samples.value)


def _blocks(committed: Committed, status: Mapping[str, Any], intervals: Intervals) -> Iterator[bytes]:
    series = [{**item, "interval": intervals.of(item["metric"])} for item in committed.series]
    named: dict[str, list[Item]] = {
        "worker": committed.workers,
        "lane": committed.lanes,
        "prefix": committed.prefixes,
        "series": series,
    }
    for kind, items in named.items():
        if items:
            yield encode(kind, 0, [], {"items": items})
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
    extent = committed.extent
    known = {"ended": None, "end_reason": "", "stream": "unknown", **status}
    yield encode(
        "extent",
        0,
        [],
        {
            "committed": extent.committed,
            "first": extent.first,
            "last": extent.last,
            "version": extent.version,
            "sequence": extent.sequence,
            "task_count": extent.tasks,
            "error_count": extent.errors,
            "worker_count": extent.workers,
            **known,
        },
    )


def _by_band(spans: StoredSpans) -> Iterator[tuple[int, Array]]:
    """Each band of workers with spans, and the positions of these."""
    for band in np.unique(spans.band).tolist():
        yield band, np.flatnonzero(spans.band == band)


def _span_block(spans: StoredSpans, rows: Array, band: int) -> bytes:
    columns = [
        Column("lane", "u32", spans.lane[rows]),
        Column("prefix", "u32", spans.prefix[rows]),
        Column("action", "u8", spans.action[rows]),
        Column("status", "u8", spans.status[rows]),
        Column("start", "f64", spans.start[rows]),
        Column("stop", "f64", spans.stop[rows]),
        Column("nbytes", "f64", spans.nbytes[rows]),
        spans.key.block_column("key", rows),
        spans.typename.block_column("typename", rows),
    ]
    return encode("span", len(rows), columns, {"layer": band_layer(SPANS, band)})


def _bin_blocks(samples: LiveSamples, is_large: bool, intervals: Intervals) -> Iterator[bytes]:
    """Of each band of each layer; of a large cluster, of all workers together too."""
    values = rates(samples, intervals)
    known = ~samples.counter | ~np.isnan(values)
    for number, layer in enumerate(samples.layer.values):
        of_layer = known & (samples.layer.codes == number)
        for band in np.unique(samples.band[of_layer]).tolist():
            rows = np.flatnonzero(of_layer & (samples.band == band))
            yield _bin_block(band_layer(layer, band), _bins(samples, values, rows))
    for layer in OF_WORKERS if is_large else ():
        of_layer = known & samples.layer.numbers(lambda name: name == layer, np.bool_)  # noqa: B023
        if of_layer.any():
            yield _bin_block(f"{layer}.{ALL}", _sums(samples, values, np.flatnonzero(of_layer)))


def _bins(samples: LiveSamples, values: Array, rows: Array) -> Bins:
    """Each sample as a bin of its own."""
    drawn = values[rows]
    return {
        "series": samples.series[rows],
        "time": samples.time[rows],
        **dict.fromkeys(("min", "max", "mean", "last"), drawn),
        "count": np.ones(len(rows)),
    }


def _sums(samples: LiveSamples, values: Array, rows: Array) -> Bins:
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


def _bin_block(layer: str, bins: Bins) -> bytes:
    columns = [_column(name, type, bins[name]) for name, type in BIN_TYPES.items()]
    return encode("bin", len(bins["time"]), columns, {"layer": layer})


def _event_block(events: StoredEvents) -> bytes:
    every = np.arange(len(events))
    columns = [
        _column("time", "f64", events.time),
        _column("worker", "i32", events.worker),
        events.kind.block_column("kind", every),
        events.message.block_column("message", every),
        events.detail.block_column("detail", every),
    ]
    return encode("event", len(events), columns)


def _profile_block(profiles: StoredProfiles, rows: slice) -> bytes:
    columns = [
        _column("time", "f64", profiles.time[rows]),
        _column("worker", "i32", profiles.worker[rows]),
        _column("prefix", "u32", profiles.prefix[rows]),
        _column("source", "u8", profiles.source[rows]),
        _column("stack", "u32", profiles.stack[rows]),
        _column("count", "u32", profiles.count[rows]),
    ]
    return encode("profile", len(profiles.time[rows]), columns)


def _column(name: str, type: str, values: Array) -> Column:
    return Column(name, type, np.ascontiguousarray(values, NUMPY[type]))


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
