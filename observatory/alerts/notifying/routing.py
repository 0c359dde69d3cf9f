"""Selects the channels that are notified of changed alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from observatory.alerts.models import RANKS, Alert, Channel, Delivery
from observatory.alerts.notifying.message import Change
from observatory.clusters.models import Cluster

BATCH_SIZE = 2000
"""rows in one INSERT"""

AlertChange = tuple[Alert, Change]


def enqueue(changes: Sequence[AlertChange]) -> None:
    """Creates the deliveries of `changes`, in the transaction that changes the alerts. Existing ones stay.

    Channels that were notified of an alert's start are notified of its end, even if their filters have
    changed.
    """
    fired = [alert for alert, change in changes if change == Change.FIRING]
    _insert(_of_fired(fired))
    resolved = [alert.pk for alert, change in changes if change == Change.RESOLVED]
    _insert(_of_resolved(resolved))


def _of_fired(alerts: Sequence[Alert]) -> Iterator[Delivery]:
    if not alerts:
        return
    channels = Channel.objects.filter(enabled=True).prefetch_related("projects", "rules")
    filters = [_ChannelFilter(channel) for channel in channels]
    clusters = Cluster.objects.filter(pk__in={alert.cluster_id for alert in alerts})
    project_of = dict(clusters.values_list("pk", "project_id"))
    for alert in alerts:
        for channel in filters:
            if channel.accepts(alert, project_of[alert.cluster_id]):
                yield Delivery(channel_id=channel.pk, alert=alert, change=Change.FIRING)


def _of_resolved(alerts: Sequence[int]) -> Iterator[Delivery]:
    starts = Delivery.objects.filter(alert__in=alerts, change=Change.FIRING)
    starts = starts.filter(channel__enabled=True, channel__tells_resolved=True)
    for channel, alert in starts.order_by("pk").values_list("channel", "alert"):
        yield Delivery(channel_id=channel, alert_id=alert, change=Change.RESOLVED)


def _insert(deliveries: Iterator[Delivery]) -> None:
    Delivery.objects.bulk_create(list(deliveries), batch_size=BATCH_SIZE, ignore_conflicts=True)


class _ChannelFilter:
    """A channel's filter by severity, project and rule."""

    def __init__(self, channel: Channel) -> None:
        self.pk = channel.pk
        self._rank = RANKS[channel.minimum_severity]
        self._projects = {project.pk for project in channel.projects.all()}
        self._rules = {rule.pk for rule in channel.rules.all()}

    def accepts(self, alert: Alert, project: int) -> bool:
        return (
            RANKS[alert.severity] >= self._rank
            and (not self._projects or project in self._projects)
            and (not self._rules or alert.rule_id in self._rules)
        )
