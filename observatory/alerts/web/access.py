"""Permissions on alerts, derived from those on projects (clusters/access.py)."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from observatory.alerts.models import Alert, Rule
from observatory.clusters.access import (
    Person,
    alerted_projects,
    may_set_targets,
    projects_to_set_targets_in,
    visible_projects,
)

ONLY_EDITORS = "Only editors and owners of a project can acknowledge and silence its alerts."


def visible_alerts(user: Person) -> QuerySet[Alert]:
    """The alerts of the clusters that `user` may see."""
    return Alert.objects.filter(cluster__project__in=alerted_projects(user)).select_related(
        "rule", "cluster", "cluster__project", "cluster__target", "acknowledged_by"
    )


def visible_rules(user: Person) -> QuerySet[Rule]:
    """The rules that apply to the user's projects, by name."""
    projects = visible_projects(user)
    watched = Rule.objects.filter(Q(projects=None) | Q(projects__in=projects))
    return Rule.objects.filter(pk__in=watched.order_by().values("pk")) if projects else Rule.objects.none()


def get_alert(user: Person, alert_id: int) -> Alert:
    """Raises Http404 if the alert doesn't exist or `user` may not see it."""
    alert = visible_alerts(user).filter(pk=alert_id).first()
    if alert is None:
        raise Http404("The alert doesn't exist, or you may not see it.")
    return alert


def get_alert_to_answer(user: Person, alert_id: int) -> Alert:
    """Like get_alert; raises PermissionDenied if `user` may see but not change it."""
    alert = get_alert(user, alert_id)
    if not may_answer_alerts(user, alert):
        raise PermissionDenied(ONLY_EDITORS)
    return alert


def may_answer_alerts(user: Person, alert: Alert) -> bool:
    """True for editors and owners of the project, and for superusers."""
    return user.is_superuser or may_set_targets(user, alert.cluster.project)


def answerable_alerts(user: Person) -> QuerySet[Alert]:
    """The alerts that `user` may acknowledge and silence."""
    projects = alerted_projects(user) if user.is_superuser else projects_to_set_targets_in(user)
    return Alert.objects.filter(cluster__project__in=projects)
