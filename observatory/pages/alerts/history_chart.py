"""Draws the history of an alert's condition as SVG coordinates in a box of WIDTH × HEIGHT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from observatory.alerts.evaluation.condition_history import ConditionHistory
from observatory.alerts.models import Alert
from observatory.store.times import from_seconds

WIDTH, HEIGHT = 640, 140
MIN_MARGIN = 0.08
"""share of the height, above and below"""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Coordinates in the box; y grows downwards."""

    path: str
    threshold_y: float
    pending_x: float
    fired_x: float
    resolved_x: float
    least: float
    most: float
    threshold: float
    unit: str
    start: datetime
    stop: datetime
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def pending_width(self) -> float:
        return self.fired_x - self.pending_x

    @property
    def firing_width(self) -> float:
        return self.resolved_x - self.fired_x


def draw(alert: Alert, history: ConditionHistory) -> Drawing:
    seen = history.values[~np.isnan(history.values)]
    least, most = float(seen.min()), float(seen.max())
    low, high = min(least, history.threshold), max(most, history.threshold)
    margin = (high - low) * MIN_MARGIN or 1.0
    low, high = low - margin, high + margin

    def x(time: float) -> float:
        share = (time - history.start) / (history.stop - history.start)
        return round(min(max(share, 0.0), 1.0) * WIDTH, 1)

    def y(value: float) -> float:
        return round((high - value) / (high - low) * HEIGHT, 1)

    resolved = x(alert.resolved.timestamp()) if alert.resolved else float(WIDTH)
    return Drawing(
        path=_path(history, x, y),
        threshold_y=y(history.threshold),
        pending_x=x(alert.pending.timestamp()),
        fired_x=x(alert.fired.timestamp()) if alert.fired else resolved,
        resolved_x=resolved,
        least=least,
        most=most,
        threshold=history.threshold,
        unit=history.unit,
        start=from_seconds(history.start),
        stop=from_seconds(history.stop),
    )


def _path(history: ConditionHistory, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """A step line with gaps where there is no data."""
    lines: list[str] = []
    drawn: tuple[float, float] | None = None
    ends = [*history.times[1:].tolist(), history.stop]
    for start, stop, value in zip(history.times.tolist(), ends, history.values.tolist(), strict=True):
        if value != value:
            drawn = None
            continue
        left, right, height = x(start), x(stop), y(value)
        if drawn is None:
            lines.append(f"M{left} {height}")
        elif (left, height) != drawn:
            lines.append(f"V{height}")
        if right != left:
            lines.append(f"H{right}")
        drawn = (right, height)
    return "".join(lines)
