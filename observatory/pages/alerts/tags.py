"""Template filters and tags for alerts."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template

from observatory.alerts.evaluation.messages import advice_of, description_of
from observatory.alerts.models import Alert
from observatory.alerts.rules.units import format_value
from observatory.pages.clusters.tags import timeline_url

register = template.Library()
register.filter(description_of)
register.filter(advice_of)

MIN_AROUND = timedelta(seconds=30)
SHARE_AROUND = 0.25
"""share of an alert's duration, on both sides"""


@register.filter
def began(alert: Alert) -> datetime:
    """The time at which the alert fired, or became pending."""
    return alert.fired or alert.pending


@register.filter
def alert_value(value: float, unit: str) -> str:
    return format_value(value, unit)


@register.filter
def subject(alert: Alert) -> str:
    """The alert's worker and its other labels as `name=value`."""
    others = [f"{name}={value}" for name, value in sorted(alert.labels.items()) if name != "worker"]
    return " ".join([alert.labels.get("worker", ""), *others]).strip()


@register.simple_tag
def alert_moment_url(alert: Alert, now: datetime) -> str:
    """The URL of the timeline that shows the whole alert, with the playhead where it fired."""
    stop = alert.resolved or min(now, max(alert.cluster.last_seen, alert.pending))
    around = max((stop - alert.pending) * SHARE_AROUND, MIN_AROUND)
    window = (alert.pending - around, stop + around)
    return timeline_url(alert.cluster_id, began(alert), *window, worker=alert.worker_id)
