"""Permissions on alerts, derived from those on projects (clusters/access.py)."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from observatory.alerts.models import Alert, Channel, Rule
from observatory.clusters.access import (
    Person,
    alerted_projects,
    may_set_targets,
    projects_to_manage,
    projects_to_set_targets_in,
    visible_projects,
)
from observatory.clusters.limits.room import require_room
from observatory.clusters.models import Project

MOST_RULES, MOST_CHANNELS = 500, 100
"""of the projects that somebody owns"""
ONLY_EDITORS = "Only editors and owners of a project can acknowledge and silence its alerts."


def visible_alerts(user: Person) -> QuerySet[Alert]:
    """The alerts of the clusters that `user` may see."""
    return Alert.objects.filter(cluster__project__in=alerted_projects(user)).select_related(
        "rule", "cluster", "cluster__project", "cluster__target", "acknowledged_by"
    )


def visible_rules(user: Person) -> QuerySet[Rule]:
    """The rules that apply to the user's projects, by name."""
    projects = visible_projects(user)
    return rules_on(projects) if projects else Rule.objects.none()


def rules_on(projects: QuerySet[Project]) -> QuerySet[Rule]:
    """The rules that apply to these projects or to all, by name."""
    of_projects = Q(projects=None) | Q(projects__in=projects)
    of_targets = Q(targets=None) | Q(targets__project__in=projects)
    watched = Rule.objects.filter(of_projects, of_targets)
    return Rule.objects.filter(pk__in=watched.order_by().values("pk"))


def rules_to_name(user: Person) -> QuerySet[Rule]:
    """The rules whose names `user` meets in forms: those that apply to projects that `user` manages."""
    return Rule.objects.all() if user.is_superuser else rules_on(projects_to_manage(user))


def require_room_for_a_rule(user: Person) -> None:
    """Raises ValidationError: every rule is read whenever rules are evaluated, also those of others."""
    if not user.is_superuser:
        require_room(managed(Rule.objects.all(), user), MOST_RULES, "What you manage", "rules")


def require_room_for_a_channel(user: Person) -> None:
    """Raises ValidationError, as for rules: an alert asks every channel."""
    if not user.is_superuser:
        require_room(managed(Channel.objects.all(), user), MOST_CHANNELS, "What you manage", "channels")


def managed(items: QuerySet[Any], user: Person) -> QuerySet[Any]:
    """The rules, channels, silences or maintenance windows that `user` may change: those of which every
    project and target is of a project that `user` manages; for superusers all."""
    if user.is_superuser:
        return items
    others = Project.objects.exclude(pk__in=projects_to_manage(user))
    items = items.filter(projects__isnull=False).exclude(projects__in=others)
    if any(field.name == "targets" for field in items.model._meta.many_to_many):
        items = items.exclude(targets__project__in=others)
    return items.distinct()


def projects_to_test_on(user: Person) -> QuerySet[Project]:
    """The projects on whose clusters and metrics `user` may try rules: for staff all that they see, for
    owners those that they manage."""
    return alerted_projects(user) if user.is_staff else projects_to_manage(user)


def projects_of_metrics(user: Person) -> list[int] | None:
    """The projects whose metrics `user` may write rules on. None: all, and Observatory itself."""
    return None if user.is_superuser else list(projects_to_test_on(user).values_list("pk", flat=True))


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
