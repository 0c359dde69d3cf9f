"""How the records of a cluster are written, and the addresses that lead from one to another."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from observatory.runs.summary import duration_words

register = template.Library()

AROUND = timedelta(seconds=5)
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}
END_REASONS = {
    "removed": "left",
    "retired": "was retired",
    "lost": "was lost",
    "killed": "was killed",
    "cluster-ended": "was there until the cluster ended",
}


@register.filter
def moment(time: datetime) -> str:
    """Date and time to the millisecond."""
    return f"{time:%Y-%m-%d} {clock(time)}"


@register.filter
def clock(time: datetime) -> str:
    """Time of day to the millisecond."""
    return f"{time:%H:%M:%S}.{time.microsecond // 1000:03}"


@register.filter
def field_time(time: datetime | None) -> str:
    """As a datetime-local field takes it."""
    return f"{time:%Y-%m-%dT}{clock(time)}" if time else ""


@register.filter
def seconds(time: datetime) -> str:
    """Since the epoch, to the microsecond."""
    return f"{time.timestamp():.6f}"


@register.filter
def size(nbytes: float) -> str:
    """Bytes in the largest unit that leaves a number of at least 1: "12.4 MiB"."""
    value, unit = float(nbytes), 0
    while abs(value) >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 else 2 if value < 10 else 1
    return f"{value:.{digits}f} {UNITS[unit]}"


@register.filter
def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


@register.simple_tag
def share(part: float, whole: float) -> float:
    """0 where there is no whole."""
    return part / whole if whole else 0.0


@register.simple_tag
def lasting(start: datetime, stop: datetime) -> str:
    return duration((stop - start).total_seconds())


def duration(seconds: float) -> str:
    """A short one: "412 ms", "2.31 s", "4 min 2 s"."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else duration_words(seconds)


@register.filter
def level_name(level: int) -> str:
    return LEVELS.get(level, f"level {level}")


@register.filter
def level_class(level: int) -> str:
    """The style of a line: the nearest of LEVELS below."""
    return LEVELS[max((known for known in LEVELS if known <= level), default=10)]


@register.filter
def end_words(reason: str) -> str:
    return END_REASONS.get(reason, reason or "ended")


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


@register.filter
def facts(detail: dict[str, Any]) -> list[tuple[str, Any]]:
    """The short facts of an event beside its message, in order of their names."""
    return sorted(
        (name, size(value) if name == "memory" and not isinstance(value, str) else value)
        for name, value in detail.items()
        if name != "message" and isinstance(value, (str, int, float)) and value != ""
    )


@register.filter
def tag_query(name: str, value: str) -> str:
    """A run's tag as the list of runs is asked for it."""
    return f"{name}={value}" if value else name


@register.simple_tag
def timeline_url(
    cluster_id: int,
    at: datetime,
    start: datetime | None = None,
    stop: datetime | None = None,
    key: str = "",
    worker: int | None = None,
) -> str:
    """The timeline at a moment, with AROUND on both sides where no window is given."""
    place = {
        "from": seconds(start or at - AROUND),
        "to": seconds(stop or at + AROUND),
        "at": seconds(at),
        **({"key": key} if key else {}),
        **({"worker": worker} if worker is not None else {}),
    }
    return f"{reverse('cluster', args=[cluster_id])}?{urlencode(place)}"


@register.simple_tag
def task_url(cluster_id: int, key: str) -> str:
    return f"{reverse('cluster-tasks', args=[cluster_id])}?{urlencode({'key': key})}"


@register.simple_tag
def logs_url(cluster_id: int, start: datetime, stop: datetime, worker: str = "") -> str:
    window = {"from": seconds(start), "to": seconds(stop), **({"worker": worker} if worker else {})}
    return f"{reverse('cluster-logs', args=[cluster_id])}?{urlencode(window)}"
