"""Template tags for what is recorded of a cluster: names of levels and end reasons, links to other pages."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from observatory.clusters.formatting import format_bytes
from observatory.pages.site.formatting import epoch
from observatory.replay.scope import ALL_SECTIONS, Section
from observatory.replay.tabs import DEFAULT_TAB, tabs_of

register = template.Library()

AROUND = timedelta(seconds=5)
LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}
END_REASONS = {
    "removed": "left",
    "retired": "was retired",
    "lost": "was lost",
    "killed": "was killed",
    "disappeared": "disappeared (reason unknown without the agent)",
    "unknown": "left (reason unknown without the agent)",
    "cluster-ended": "stayed until the cluster ended",
}


@register.inclusion_tag("pages/clusters/timeline_tabs.html")
def timeline_tabs(url: str, tab: str, sections: Collection[Section] = ALL_SECTIONS) -> dict[str, Any]:
    """Links to the tabs of the timeline at `url`; `tab` is the open one."""
    return {"url": url, "tab": tab, "tabs": tabs_of(sections), "default": DEFAULT_TAB}


@register.filter
def level_name(level: int) -> str:
    return LEVELS.get(level, f"level {level}")


@register.filter
def level_class(level: int) -> str:
    """The CSS class of a log line: the nearest of LEVELS below its level."""
    return LEVELS[max((known for known in LEVELS if known <= level), default=10)]


@register.filter
def end_text(reason: str) -> str:
    """How a worker ended, as the end of a sentence: "was retired"."""
    return END_REASONS.get(reason, reason or "ended")


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


@register.filter
def facts(detail: dict[str, Any]) -> list[tuple[str, Any]]:
    """The short values of an event besides its message, sorted by name."""
    return sorted(
        (name, format_bytes(value) if name == "memory" and not isinstance(value, str) else value)
        for name, value in detail.items()
        if name != "message" and isinstance(value, (str, int, float)) and value != ""
    )


@register.simple_tag
def timeline_url(
    cluster_id: int,
    at: datetime,
    start: datetime | None = None,
    stop: datetime | None = None,
    key: str = "",
    worker: int | None = None,
) -> str:
    """The timeline with its playhead at a time; without a window it shows AROUND on both sides."""
    place = {
        "from": epoch(start or at - AROUND),
        "to": epoch(stop or at + AROUND),
        "at": epoch(at),
        **({"key": key} if key else {}),
        **({"worker": worker} if worker is not None else {}),
    }
    return f"{reverse('cluster', args=[cluster_id])}?{urlencode(place)}"


@register.simple_tag
def task_url(cluster_id: int, key: str) -> str:
    return f"{reverse('cluster-tasks', args=[cluster_id])}?{urlencode({'key': key})}"


@register.simple_tag
def logs_url(cluster_id: int, start: datetime, stop: datetime, worker: str = "") -> str:
    window = {"from": epoch(start), "to": epoch(stop), **({"worker": worker} if worker else {})}
    return f"{reverse('cluster-logs', args=[cluster_id])}?{urlencode(window)}"
