"""The small chart of an alert: what its condition came to, as lines in a box of WIDTH × HEIGHT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from observatory.alerts.evaluation.condition_history import ConditionHistory
from observatory.alerts.models import Alert

WIDTH, HEIGHT = 640, 140
LEAST_ROOM = 0.08
"""of the height, above and below"""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Coordinates in the box, whose y grows downwards."""

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


def draw(alert: Alert, course: ConditionHistory) -> Drawing:
    seen = course.values[~np.isnan(course.values)]
    least, most = float(seen.min()), float(seen.max())
    low, high = min(least, course.threshold), max(most, course.threshold)
    room = (high - low) * LEAST_ROOM or 1.0
    low, high = low - room, high + room

    def x(time: float) -> float:
        share = (time - course.start) / (course.stop - course.start)
        return round(min(max(share, 0.0), 1.0) * WIDTH, 1)

    def y(value: float) -> float:
        return round((high - value) / (high - low) * HEIGHT, 1)

    resolved = x(alert.resolved.timestamp()) if alert.resolved else float(WIDTH)
    return Drawing(
        path=_path(course, x, y),
        threshold_y=y(course.threshold),
        pending_x=x(alert.pending.timestamp()),
        fired_x=x(alert.fired.timestamp()) if alert.fired else resolved,
        resolved_x=resolved,
        least=least,
        most=most,
        threshold=course.threshold,
        unit=course.unit,
        start=datetime.fromtimestamp(course.start, UTC),
        stop=datetime.fromtimestamp(course.stop, UTC),
    )


def _path(course: ConditionHistory, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    """Steps, with gaps where there is no value."""
    lines: list[str] = []
    drawn: tuple[float, float] | None = None
    ends = [*course.times[1:].tolist(), course.stop]
    for start, stop, value in zip(course.times.tolist(), ends, course.values.tolist(), strict=True):
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
