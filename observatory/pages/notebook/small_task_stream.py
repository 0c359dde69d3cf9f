"""A small picture of a window's task stream: a row a worker, in the colour of what it computed longest."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from observatory.replay.scope import Scope
from observatory.replay.tiles.each_worker import SHIFT, WIDE_BINS
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.replay.tiles.requested_tiles import requested_tiles
from observatory.store.connection import read_connection
from observatory.store.queries.extents import read_extent
from observatory.store.queries.windows.comparison import prefix_names
from observatory.wire.blocks import decode
from observatory.wire.layers import SPANS

WIDTH, MOST_COLUMNS, MOST_ROWS = 600, 120, 24
"""pixels of the picture; columns and rows at most, whatever the window and the number of workers"""
ROW_HEIGHT, ROW_GAP = 8, 2
"""pixels"""
MOST_NAMES = 6
"""prefixes in the legend"""
UNKNOWN_COLOR = "#888888"

Cell = tuple[int, int]
"""row and column"""


@dataclass(frozen=True, slots=True)
class Color:
    """What has one colour: the name of its prefix, and its cells as an SVG path."""

    name: str
    color: str
    path: str


@dataclass(frozen=True, slots=True)
class SmallTaskStream:
    """Pixels; `colors` are those of the prefixes, the one that was computed longest first."""

    width: int
    height: int
    colors: list[Color]
    workers: int
    """that computed something; if they are more than rows, a row is several of them"""

    @property
    def named(self) -> list[Color]:
        return self.colors[:MOST_NAMES]

    @property
    def unnamed(self) -> int:
        return len(self.colors) - len(self.named)


def small_task_stream(scope: Scope) -> SmallTaskStream | None:
    """None: no task is recorded in the scope."""
    with read_connection() as connection:
        extent = read_extent(connection, scope.cluster.pk)
        known = prefix_names(connection, scope.cluster.pk)
    if extent is None or not extent.first:
        return None
    first, last = scope.clip_seconds(extent.first, extent.last)
    if last <= first:
        return None
    busy = _busy(scope, first, last)
    if not busy:
        return None
    workers = sorted({worker for worker, _ in busy})
    rows = min(len(workers), MOST_ROWS)
    row_of = {worker: place * rows // len(workers) for place, worker in enumerate(workers)}
    cells: dict[Cell, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for (worker, column), by_prefix in busy.items():
        for prefix, seconds in by_prefix.items():
            cells[row_of[worker], column][prefix] += seconds
    columns = 1 + max(column for _, column in cells)
    return SmallTaskStream(
        WIDTH, rows * ROW_HEIGHT, _colors(cells, WIDTH / columns, known, scope), len(workers)
    )


def _busy(scope: Scope, first: float, last: float) -> dict[Cell, dict[int, float]]:
    """Seconds of the prefix that each worker computed longest, by worker and column from `first` on."""
    start, stop = round(first * 1e6), round(last * 1e6)
    level = math.ceil(math.log2((stop - start) / MOST_COLUMNS)) - SHIFT
    level = min(max(level, MINIMUM_LEVEL), MAXIMUM_LEVEL)
    tiles = [
        TileId(level, index)
        for index in range(TileId.at(level, start).index, TileId.at(level, stop).index + 1)
    ]
    offset = (start - tiles[0].start) >> (level + SHIFT)
    layer = Layer(SPANS, None, is_each=True)
    found: dict[Cell, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for place, tile in enumerate(requested_tiles(scope, [(layer, tile_id) for tile_id in tiles])):
        for block in decode(tile.body):
            if block.kind == "worker-busy":
                columns = (block.list(name) for name in ("worker", "bin", "prefix", "seconds"))
                for worker, bin, prefix, seconds in zip(*columns, strict=True):
                    found[worker, place * WIDE_BINS + bin - offset][prefix] += seconds
    return found


def _colors(
    cells: dict[Cell, dict[int, float]], width: float, known: dict[int, tuple[str, str]], scope: Scope
) -> list[Color]:
    """`width`: pixels of a column."""
    seconds: dict[int, float] = defaultdict(float)
    drawn: dict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(cells):
        for prefix, spent in cells[cell].items():
            seconds[prefix] += spent
        drawn[max(cells[cell], key=cells[cell].__getitem__)].append(cell)
    found = []
    for prefix in sorted(drawn, key=lambda prefix: -seconds[prefix]):
        name, color = known.get(prefix, ("", UNKNOWN_COLOR))
        found.append(Color(scope.text(name), color, _path(drawn[prefix], width)))
    return found


def _path(cells: list[Cell], width: float) -> str:
    """Rectangles; neighbours in a row are one. `cells` are sorted."""
    parts = []
    place = 0
    while place < len(cells):
        row, column = cells[place]
        end = place + 1
        while end < len(cells) and cells[end] == (row, column + end - place):
            end += 1
        left, right = column * width, (column + end - place) * width
        parts.append(f"M{left:.1f} {row * ROW_HEIGHT}H{right:.1f}v{ROW_HEIGHT - ROW_GAP}H{left:.1f}z")
        place = end
    return "".join(parts)
