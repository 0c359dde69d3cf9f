"""Paths of an alert's page, and of its place on the timeline."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.urls import reverse

from observatory.alerts.models import Alert, Rule
from observatory.alerts.web.access import managed
from observatory.clusters.access import projects_to_manage
from observatory.clusters.models import Cluster

AROUND = 120.0
"""seconds shown before the alert was pending and after it fired"""


def alert_path(alert: Alert) -> str:
    """The path of the alert's page."""
    return reverse("alert", args=[alert.pk])


def moment_path(alert: Alert) -> str:
    """The path of the cluster's timeline when the alert fired."""
    fired = alert.fired or alert.pending
    return timeline_path(alert.cluster_id, alert.pending.timestamp(), fired.timestamp())


def new_rule_url(user: User, cluster: Cluster) -> str:
    """The URL of the form of a rule on clusters of this name; "" if `user` may not make rules for them."""
    manages = not user.is_superuser and projects_to_manage(user).filter(pk=cluster.project_id).exists()
    if not (manages or (user.is_staff and user.has_perm("alerts.add_rule"))):
        return ""
    # in a pattern, brackets make these characters stand for themselves
    pattern = re.sub(r"([*?\[])", r"[\1]", cluster.name)
    query = {"cluster_names": pattern} | ({"projects": cluster.project_id} if manages else {})
    return f"{reverse('admin:alerts_rule_add')}?{urlencode(query)}"


def rule_url(user: User, rule: Rule) -> str:
    """The URL of the rule's form; "" if `user` may not change it."""
    may_change = user.is_staff or managed(Rule.objects.filter(pk=rule.pk), user).exists()
    return reverse("admin:alerts_rule_change", args=[rule.pk]) if may_change else ""


def timeline_path(cluster: int, pending: float, fired: float) -> str:
    """The path of the time around an alert; times are seconds."""
    return window_path(cluster, pending - AROUND, fired + AROUND, at=f"{fired:.3f}")


def window_path(cluster: int, start: float, stop: float, **place: str) -> str:
    """The path of a window (seconds), and of a place in it, in the format of address.js."""
    query = urlencode({"from": f"{start:.3f}", "to": f"{stop:.3f}", **place})
    return f"{reverse('cluster', args=[cluster])}?{query}"
