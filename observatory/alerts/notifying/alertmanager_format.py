"""The format of annotations and times in Alertmanager's webhooks and API."""

from __future__ import annotations

from datetime import UTC, datetime

from observatory.alerts.notifying.message import Item


def annotations_of(item: Item) -> dict[str, str]:
    texts = {
        "summary": item.summary,
        "description": item.description,
        "advice": item.advice,
        "fired": ", ".join(item.fired),
        "finding": item.finding,
        "page": item.page_url,
    }
    return {name: text for name, text in texts.items() if text}


def timestamp(time: datetime) -> str:
    """RFC 3339."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
