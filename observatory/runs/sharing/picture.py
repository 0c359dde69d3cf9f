"""Preview picture of a run: its activity over time, by prefix."""

from __future__ import annotations

import hashlib
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from django.core.cache import cache
from redis.exceptions import RedisError

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import recorded_tiles
from observatory.replay.tiles.layers import Layer
from observatory.runs.models import Run
from observatory.runs.summary import summary
from observatory.store.connection import read_connection
from observatory.store.queries.windows.comparison import prefix_names
from observatory.store.series.counters import Floats
from observatory.wire.blocks import decode
from observatory.wire.layers import PREFIXES

if TYPE_CHECKING:
    from PIL import ImageDraw

WIDTH, HEIGHT = 1200, 630
"""pixels, as usual for Open Graph"""
MARGIN, TOP = 60, 210
BACKGROUND, TEXT, MUTED, AXIS = "#ffffff", "#1c2430", "#5b6675", "#d4dae2"
LONGEST_TITLE = 48
KEPT = 3600
"""seconds that a picture stays in the cache"""
COLUMNS = WIDTH - 2 * MARGIN


def cached_picture(run: Run, scope: Scope) -> bytes:
    """The run's picture, drawn again when what it shows was counted again, and after an hour."""
    shown = repr((scope.text(run.name), run.start, run.stop, run.counted, summary(run)))
    key = f"picture:{run.pk}:{hashlib.sha256(shown.encode()).hexdigest()}"
    try:
        found: bytes | None = cache.get(key)
    except RedisError:
        return picture(run, scope)
    if found is None:
        found = picture(run, scope)
        cache.set(key, found, KEPT)
    return found


def picture(run: Run, scope: Scope) -> bytes:
    """A PNG."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH, HEIGHT), BACKGROUND)
    draw = ImageDraw.Draw(image)
    name = scope.text(run.name)
    title = name if len(name) <= LONGEST_TITLE else f"{name[: LONGEST_TITLE - 1]}…"
    draw.text((MARGIN, 50), title, TEXT, ImageFont.load_default(54))
    draw.text((MARGIN, 130), summary(run), MUTED, ImageFont.load_default(32))
    _draw_busy(draw, *_busy(scope))
    draw.line((MARGIN, HEIGHT - MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN), AXIS, 3)
    file = BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw_busy(draw: ImageDraw.ImageDraw, seconds: Floats, colors: list[str]) -> None:
    """Draws stacked columns; `seconds` has a row for each prefix and a column for each pixel."""
    highest = seconds.sum(axis=0).max(initial=0)
    if not highest:
        return
    heights = np.cumsum(seconds, axis=0) * ((HEIGHT - MARGIN - TOP) / highest)
    for row in range(len(colors) - 1, -1, -1):
        for column in np.flatnonzero(seconds[row]):
            x, top = MARGIN + int(column), HEIGHT - MARGIN - round(float(heights[row, column]))
            draw.line((x, top, x, HEIGHT - MARGIN), colors[row])


def _busy(scope: Scope) -> tuple[Floats, list[str]]:
    """Busy seconds by prefix and column, busiest prefix first, and the prefixes' colours."""
    with read_connection() as connection:
        colors = {id: color for id, (_, color) in prefix_names(connection, scope.cluster.pk).items()}
        tiles = [
            (tile_id, list(decode(tile.body)))
            for tile_id, tile in recorded_tiles(connection, scope, Layer(PREFIXES))
        ]
    if not tiles:
        return np.zeros((0, COLUMNS)), []
    # each tile starts with the extent of the window
    first, last = (tiles[0][1][0].meta[edge] for edge in ("first", "last"))
    seconds: dict[int, Floats] = {}
    for tile_id, blocks in tiles:
        for block in blocks:
            if block.kind == "busy":
                edges = tile_id.start + np.array([block.list("bin")]) * tile_id.bin_width
                edges = np.concatenate([edges, edges + tile_id.bin_width]) / 1e6
                columns = np.clip((edges - first) / max(last - first, 1e-6), 0, 1) * COLUMNS
                for prefix, start, stop, value in zip(
                    block.list("prefix"), *columns.astype(int), block.list("seconds"), strict=True
                ):
                    row = seconds.setdefault(prefix, np.zeros(COLUMNS))
                    row[start : max(stop, start + 1)] += value / max(stop - start, 1)
    ordered = sorted(seconds, key=lambda prefix: -seconds[prefix].sum())
    found = np.array([seconds[prefix] for prefix in ordered]).reshape(-1, COLUMNS)
    return found, [colors.get(prefix, MUTED) for prefix in ordered]
