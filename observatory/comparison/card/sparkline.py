"""Durations of runs as a line: SVG coordinates in a box of WIDTH × HEIGHT, in which y grows downwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from observatory.clusters.formatting import format_duration

WIDTH, HEIGHT = 120, 24
MARGIN = 3
"""on all sides, for the point at the end"""


@dataclass(frozen=True, slots=True)
class Sparkline:
    points: str
    """of an SVG polyline"""
    last: tuple[float, float]
    label: str
    """what it shows, for people who don't see it"""
    width: int = WIDTH
    height: int = HEIGHT
    bottom: int = HEIGHT - MARGIN
    """y of 0 s"""


def sparkline(durations: Sequence[float]) -> Sparkline | None:
    """A line through `durations` (seconds, oldest first) over an axis from 0; None for less than two."""
    if len(durations) < 2:
        return None
    most = max(durations) or 1.0
    step = (WIDTH - 2 * MARGIN) / (len(durations) - 1)
    places = [
        (round(MARGIN + number * step, 1), round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * value / most, 1))
        for number, value in enumerate(durations)
    ]
    label = (
        f"Durations of the last {len(durations)} runs: "
        f"{format_duration(min(durations))} to {format_duration(max(durations))}, "
        f"the last one {format_duration(durations[-1])}"
    )
    return Sparkline(" ".join(f"{x},{y}" for x, y in places), places[-1], label)
