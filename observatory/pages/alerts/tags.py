"""How alerts are written, and where on the timeline they are."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template

from observatory.alerts.models import Alert
from observatory.alerts.rules.units import amount
from observatory.pages.clusters.tags import timeline_url

register = template.Library()

LEAST_AROUND = timedelta(seconds=30)
SHARE_AROUND = 0.25
"""of an alert's own length, on both sides"""


@register.filter
def began(alert: Alert) -> datetime:
    """When it fired; of one that hasn't, since when it is pending."""
    return alert.fired or alert.pending


@register.filter
def alert_value(value: float, unit: str) -> str:
    return amount(value, unit)


@register.filter
def subject(alert: Alert) -> str:
    """What of the cluster it is about: its worker, and its other labels as `name=value`."""
    others = [f"{name}={value}" for name, value in sorted(alert.labels.items()) if name != "worker"]
    return " ".join([alert.labels.get("worker", ""), *others]).strip()


@register.simple_tag
def alert_moment_url(alert: Alert, now: datetime) -> str:
    """The timeline with the whole alert in sight, the playhead where it fired."""
    stop = alert.resolved or min(now, max(alert.cluster.last_seen, alert.pending))
    around = max((stop - alert.pending) * SHARE_AROUND, LEAST_AROUND)
    window = (alert.pending - around, stop + around)
    return timeline_url(alert.cluster_id, began(alert), *window, worker=alert.worker_id)
