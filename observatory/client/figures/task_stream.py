"""The task stream of a run: a bar for each span, or for each bin where there are too many."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from observatory.client.connection import Connection
from observatory.wire.blocks import Block, decode
from observatory.wire.layers import SPANS, band_layer
from observatory.wire.records import Action

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_BARS = 20_000
MOST_COLUMNS = 1_000
BINS = 512
"""of a tile (docs/blocks.md)"""
LONGEST_NAME = 60
ROW_HEIGHT, MARGINS, MOST_HEIGHT = 18, 140, 1_600
"""pixels"""
OTHER_COLORS = {
    Action.TRANSFER: "#d62728",
    Action.DISK_READ: "#ff7f0e",
    Action.DISK_WRITE: "#ff7f0e",
    Action.DESERIALIZE: "#999999",
    Action.SERIALIZE: "#999999",
    Action.LONG_RUNNING: "#5f7fa8",
}


@dataclass
class Bars:
    """What one trace draws. Times are seconds since the epoch."""

    color: str
    seconds: float = 0.0
    rows: list[int] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(self, row: int, start: float, length: float, text: str) -> None:
        self.rows.append(row)
        self.starts.append(start)
        self.lengths.append(length)
        self.texts.append(text)


def task_stream(connection: Connection, run: Mapping[str, Any]) -> Figure:
    from plotly import graph_objects

    timeline = f"/runs/{run['id']}/timeline"
    info, lanes = connection.json(timeline), connection.json(f"{timeline}/lanes")
    rows = {lane["id"]: place for place, lane in enumerate(lanes["lanes"])}
    figure = graph_objects.Figure()
    bars = _bars(connection, timeline, info, lanes, rows)
    for name, drawn in sorted(bars.items(), key=lambda item: -item[1].seconds):
        figure.add_bar(
            name=escape(name[:LONGEST_NAME]),
            orientation="h",
            base=[datetime.fromtimestamp(start, UTC) for start in drawn.starts],
            x=[length * 1000 for length in drawn.lengths],
            y=drawn.rows,
            hovertext=drawn.texts,
            hoverinfo="text",
            marker={"color": drawn.color, "line": {"width": 0}},
        )
    figure.update_layout(
        title=f"Task stream of {escape(str(run['name']))}",
        barmode="overlay",
        bargap=0.1,
        xaxis={"type": "date", "title": "UTC"},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": list(rows.values()),
            "ticktext": _labels(lanes),
        },
        height=min(MARGINS + ROW_HEIGHT * max(len(rows), 4), MOST_HEIGHT),
    )
    return figure


def _bars(
    connection: Connection,
    timeline: str,
    info: Mapping[str, Any],
    lanes: Mapping[str, Any],
    rows: Mapping[int, int],
) -> dict[str, Bars]:
    """By the name of what they show."""
    prefixes = {prefix["id"]: (prefix["name"], prefix["color"]) for prefix in lanes["prefixes"]}
    found: dict[str, Bars] = {}
    drawn = set()  # a span of two tiles is in both
    for width, blocks in _tiles(connection, timeline, info, lanes):
        for block in blocks:
            if block.kind not in ("span", "busy"):
                continue
            for lane, prefix, action, start, length, seconds, detail in _marks(block, width):
                place = (lane, action, start, length, detail)
                if lane not in rows or place in drawn:
                    continue
                drawn.add(place)
                of_prefix, color = prefixes.get(prefix, ("other", "#888888"))
                is_compute = action == Action.COMPUTE
                name = of_prefix if is_compute else action.label
                bars = found.setdefault(name, Bars(color if is_compute else OTHER_COLORS[action]))
                bars.seconds += seconds
                about = escape(f"{action.label} {of_prefix[:LONGEST_NAME]}")
                bars.add(rows[lane], start, length, f"{about}<br>{escape(detail)}")
    return found


def _tiles(
    connection: Connection, timeline: str, info: Mapping[str, Any], lanes: Mapping[str, Any]
) -> Iterator[tuple[int, Iterator[Block]]]:
    """The width of a bin in microseconds, and the blocks of a tile."""
    first, last = info["first"] * 1e6, info["last"] * 1e6
    if not first or last <= first:
        return
    columns = min(MOST_COLUMNS, max(MOST_BARS // max(len(lanes["lanes"]), 1), 50))
    level = math.ceil(math.log2((last - first) / columns))
    level = min(max(level, info["minimum_level"]), info["maximum_level"])
    width = 1 << level
    tile = BINS * width
    workers = max((worker["position"] for worker in lanes["workers"]), default=0) + 1
    for band in range(math.ceil(workers / info["band"])):
        for index in range(int(first // tile), int(last // tile) + 1):
            path = f"{timeline}/tiles/{band_layer(SPANS, band)}/{level}/{index}"
            yield width, decode(connection.get(path, {}))


def _marks(block: Block, width: int) -> Iterator[tuple[int, int, Action, float, float, float, str]]:
    """Lane, prefix, action, start, length, busy seconds and a text of each bar of a block."""
    lane, prefix, action = (block.list(name) for name in ("lane", "prefix", "action"))
    actions = list(map(Action, action))
    if block.kind == "span":
        columns = (block.list(name) for name in ("start", "stop", "key"))
        for row, (start, stop, key) in enumerate(zip(*columns, strict=True)):
            text = f"{key[:200]}, {stop - start:.6g} s"
            yield lane[row], prefix[row], actions[row], start, stop - start, stop - start, text
        return
    bins, seconds = block.list("bin"), block.list("seconds")
    longest: dict[tuple[int, int], int] = {}
    together: dict[tuple[int, int], float] = defaultdict(float)
    for row, place in enumerate(zip(lane, bins, strict=True)):
        together[place] += seconds[row]
        if place not in longest or seconds[row] > seconds[longest[place]]:
            longest[place] = row
    begin = block.meta["index"] * BINS * width / 1e6
    for (of_lane, bin), row in longest.items():
        text = f"busy {together[of_lane, bin]:.3g} s of {width / 1e6:.3g} s"
        start = begin + bin * width / 1e6
        yield of_lane, prefix[row], actions[row], start, width / 1e6, seconds[row], text


def _labels(lanes: Mapping[str, Any]) -> list[str]:
    names = {worker["id"]: worker["name"] or worker["address"] for worker in lanes["workers"]}
    labels, seen = [], set()
    for lane in lanes["lanes"]:
        worker = lane["worker"]
        labels.append("" if worker in seen else escape(str(names.get(worker, ""))[:LONGEST_NAME]))
        seen.add(worker)
    return labels
