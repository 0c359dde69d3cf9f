"""Tells open pages what was committed: the blocks of docs/blocks.md, over Channels."""

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
    Array,
    Committed,
    Item,
    LiveSample,
    StoredEvent,
    StoredProfile,
    StoredSpans,
)
from observatory.store.ingest.intervals import Intervals
from observatory.wire.blocks import Column, encode, number_column, text_column
from observatory.wire.layers import ALL, BAND, OF_WORKERS, SPANS, band_layer

log = logging.getLogger(__name__)

FRAME_BYTES = 1_000_000
SPANS_PER_BLOCK = 5_000
"""a span of a usual key has under 200 bytes"""
STACKS_PER_BLOCK = 30_000
"""of 25 bytes"""
GAP = 3.0
"""usual intervals between two samples of a counter, beyond which its rate is unknown"""

Bin = tuple[int, float, float, float, float, float, int]
"""the columns of a block of kind bin"""

LOST = Counter("observatory_live_frames_lost_total", "Frames of live blocks that open pages didn't get")


def group_of(cluster: int) -> str:
    """The Channels group of a cluster's open pages. Its messages: {"type": "live.frame", "data": bytes}."""
    return f"cluster.{cluster}"


async def publish(
    committed: Committed, status: Mapping[str, Any] | None = None, intervals: Intervals | None = None
) -> None:
    """Sends the frames of a committed batch; what can't be sent is logged and counted in LOST.

    `status` is what Django knows for the extent's block: ended (seconds or None), end_reason, stream.
    """
    sent = list(frames(committed, status or {}, intervals or Intervals()))
    layer = get_channel_layer()
    for number, data in enumerate(sent):
        try:
            await layer.group_send(group_of(committed.extent.cluster), {"type": "live.frame", "data": data})
        except Exception as error:  # whatever the broker's client raises: what is stored stays stored
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


def rate(sample: LiveSample, interval: float) -> float | None:
    """A counter's growth per second since the sample before; None where that isn't known.

    A counter that fell was reset (its process restarted) and has grown from 0.
    """
    elapsed = sample.time - sample.previous_time
    if not 0 < elapsed <= GAP * interval:
        return None
    grown = sample.value - sample.previous_value
    return (grown if grown >= 0 else sample.value) / elapsed


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
    yield from _bin_blocks(committed, intervals)
    if committed.events:
        yield _event_block(committed.events)
    for start in range(0, len(committed.profile), STACKS_PER_BLOCK):
        yield _profile_block(committed.profile[start : start + STACKS_PER_BLOCK])
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
    """Each band of workers that is in it, with its rows."""
    if spans.band is None:
        yield 0, np.arange(len(spans))
        return
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
        text_column("key", [spans.keys[row] for row in rows.tolist()]),
        text_column("typename", [spans.typenames[row] for row in rows.tolist()]),
    ]
    return encode("span", len(rows), columns, {"layer": band_layer(SPANS, band)})


def _bin_blocks(committed: Committed, intervals: Intervals) -> Iterator[bytes]:
    """Of each band of each layer; where there are several bands, of all workers together too."""
    layers: dict[str, list[Bin]] = {}
    together: dict[str, dict[int, list[Bin]]] = {}
    is_large = committed.extent.workers > BAND
    for sample in committed.samples:
        value = rate(sample, intervals.of(sample.metric)) if sample.counter else sample.value
        if value is None:
            continue
        drawn = (sample.series, sample.time, value, value, value, value, 1)
        layers.setdefault(band_layer(sample.layer, sample.band), []).append(drawn)
        if is_large and sample.layer in OF_WORKERS:
            together.setdefault(f"{sample.layer}.{ALL}", {}).setdefault(sample.first, []).append(drawn)
    for layer, bins in layers.items():
        yield _bin_block(layer, bins)
    for layer, by_series in together.items():
        yield _bin_block(layer, [_sum(series, bins) for series, bins in by_series.items()])


def _sum(series: int, bins: list[Bin]) -> Bin:
    """What several workers told in one batch, as one bin."""
    _, time, least, most, mean, last, count = zip(*bins, strict=True)
    newest = time.index(max(time))
    return series, time[newest], min(least), max(most), sum(mean) / len(bins), last[newest], sum(count)


def _bin_block(layer: str, bins: list[Bin]) -> bytes:
    series, time, least, most, mean, last, count = zip(*bins, strict=True)
    columns = [
        number_column("series", "u32", series),
        number_column("time", "f64", time),
        number_column("min", "f64", least),
        number_column("max", "f64", most),
        number_column("mean", "f64", mean),
        number_column("last", "f64", last),
        number_column("count", "u32", count),
    ]
    return encode("bin", len(bins), columns, {"layer": layer})


def _event_block(events: list[StoredEvent]) -> bytes:
    columns = [
        number_column("time", "f64", [event.time for event in events]),
        number_column("worker", "i32", [event.worker for event in events]),
        text_column("kind", [event.kind for event in events]),
        text_column("message", [event.message for event in events]),
        text_column("detail", [event.detail for event in events]),
    ]
    return encode("event", len(events), columns)


def _profile_block(rows: list[StoredProfile]) -> bytes:
    columns = [
        number_column("time", "f64", [row.time for row in rows]),
        number_column("worker", "i32", [row.worker for row in rows]),
        number_column("prefix", "u32", [row.prefix for row in rows]),
        number_column("source", "u8", [row.source for row in rows]),
        number_column("stack", "u32", [row.stack for row in rows]),
        number_column("count", "u32", [row.count for row in rows]),
    ]
    return encode("profile", len(rows), columns)


@dataclass(slots=True)
class _Delivery:
    """Says once that the broker went away, and once that it is back."""

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
