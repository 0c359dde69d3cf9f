"""Links to an alert's page, and to it on the timeline."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.urls import reverse

from observatory.alerts.models import Alert
from observatory.clusters.models import Cluster
from observatory.clusters.public_urls import public_url

AROUND = 120.0
"""seconds shown before the alert was pending and after it fired"""


def page_url(alert: Alert) -> str:
    """The URL of the alert's page; only a path if settings.PUBLIC_URL isn't set."""
    return public_url(reverse("alert", args=[alert.pk]))


def moment_url(alert: Alert) -> str:
    """The URL of the cluster's timeline when the alert fired; only a path if settings.PUBLIC_URL isn't
    set."""
    fired = alert.fired or alert.pending
    return public_url(timeline_path(alert.cluster_id, alert.pending.timestamp(), fired.timestamp()))


def new_rule_url(user: User, cluster: Cluster) -> str:
    """The URL of the form of a rule on clusters of this name; "" if `user` may not make rules."""
    if not (user.is_staff and user.has_perm("alerts.add_rule")):
        return ""
    # in a pattern, brackets make these characters stand for themselves
    pattern = re.sub(r"([*?\[])", r"[\1]", cluster.name)
    return f"{reverse('admin:alerts_rule_add')}?{urlencode({'cluster_names': pattern})}"


def timeline_path(cluster: int, pending: float, fired: float) -> str:
    """The path of the time around an alert; times are seconds."""
    return window_path(cluster, pending - AROUND, fired + AROUND, at=f"{fired:.3f}")


def window_path(cluster: int, start: float, stop: float, **place: str) -> str:
    """The path of a window (seconds), and of a place in it, in the format of address.js."""
    query = urlencode({"from": f"{start:.3f}", "to": f"{stop:.3f}", **place})
    return f"{reverse('cluster', args=[cluster])}?{query}"
