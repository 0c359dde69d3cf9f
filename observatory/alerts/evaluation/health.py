"""The health of alerting, for `doctor` and Observatory's own /metrics."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Count, Q, QuerySet
from django.utils.timezone import now

from observatory.alerts.evaluation.watermark import watermark
from observatory.alerts.models import Alert, Channel, Delivery, Progress, Rule
from observatory.clusters.live.own_cluster import INTERVAL
from observatory.clusters.models import Cluster
from observatory.store.queries.extents import extents

RECENT = timedelta(hours=1)
FAILED_ATTEMPTS = 2
"""failed attempts after which a channel counts as failing"""


def lag(at: float) -> float:
    """Seconds by which the evaluation of the slowest live cluster lags behind at this time; 0 without any."""
    clusters = list(Cluster.objects.filter(ended=None).select_related("project", "target"))
    stored = extents(cluster.pk for cluster in clusters)
    until = dict(Progress.objects.filter(cluster__in=stored).values_list("cluster", "until"))
    behind = [0.0]
    for cluster in clusters:
        extent = stored.get(cluster.pk)
        if extent is not None and extent.first:
            reached = until[cluster.pk].timestamp() if cluster.pk in until else extent.first
            # Observatory's own cluster waits for its next sample
            waits = INTERVAL if cluster.project.is_own else 0.0
            behind.append(watermark(cluster, extent, at) - reached - waits)
    return max(behind)


def failing_rules() -> QuerySet[Rule]:
    return Rule.objects.filter(enabled=True).exclude(error="")


def failing_channels() -> list[tuple[Channel, str]]:
    """Channels with failed messages and no success since then, each with its newest error."""
    waits = Q(state=Delivery.State.DUE, attempts__gte=FAILED_ATTEMPTS)
    failed_now = Q(state=Delivery.State.FAILED, created__gt=now() - RECENT)
    found = []
    for channel in Channel.objects.filter(enabled=True):
        failed = channel.deliveries.filter(waits | failed_now).order_by("-created").first()
        if failed is None:
            continue
        if not channel.deliveries.filter(state=Delivery.State.SENT, sent__gt=failed.created).exists():
            found.append((channel, failed.last_error))
    return found


def open_alert_counts() -> dict[str, int]:
    """By state."""
    counted = Alert.objects.exclude(state=Alert.State.RESOLVED).order_by().values("state")
    found = dict.fromkeys((Alert.State.PENDING.value, Alert.State.FIRING.value), 0)
    return found | dict(counted.annotate(count=Count("pk")).values_list("state", "count"))


def delivery_counts() -> dict[str, int]:
    """By state."""
    counted = Delivery.objects.order_by().values("state").annotate(count=Count("pk"))
    return dict.fromkeys(Delivery.State.values, 0) | dict(counted.values_list("state", "count"))
