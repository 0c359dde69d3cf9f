"""Permissions on projects, targets and clusters, for pages, the API and sockets."""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Model, QuerySet
from django.http import Http404

from observatory.clusters.accounts.models import Membership
from observatory.clusters.deletion.models import being_deleted
from observatory.clusters.models import Cluster, Discovery, Project, Target
from observatory.store.places.askers import asks_about

Person = AbstractUser | AnonymousUser
Item = TypeVar("Item", bound=Model)

EDITING_ROLES = (Membership.Role.EDITOR, Membership.Role.OWNER)


def visible_projects(user: Person) -> QuerySet[Project]:
    """Projects of which `user` is a member; for superusers, all."""
    return _projects(user, tuple(Membership.Role))


def alerted_projects(user: Person) -> QuerySet[Project]:
    """The projects whose alerts `user` may see: the visible ones, for superusers also Observatory's own."""
    if user.is_active and user.is_superuser:
        return _existing()
    return visible_projects(user)


def alerted_clusters(user: Person) -> QuerySet[Cluster]:
    """The clusters whose alerts `user` may see."""
    return _clusters_of(alerted_projects(user))


def visible_targets(user: Person) -> QuerySet[Target]:
    return Target.objects.filter(project__in=visible_projects(user)).select_related("project", "discovery")


def visible_discoveries(user: Person) -> QuerySet[Discovery]:
    return Discovery.objects.filter(project__in=visible_projects(user)).select_related("project")


def visible_clusters(user: Person) -> QuerySet[Cluster]:
    return _clusters_of(visible_projects(user))


def projects_to_set_targets_in(user: Person) -> QuerySet[Project]:
    """The projects whose targets and discoveries `user` may add, change and remove."""
    return _projects(user, EDITING_ROLES)


def may_set_targets(user: Person, project: Project) -> bool:
    """True for editors and owners of the project. Not for viewers: targets can reach private networks."""
    return projects_to_set_targets_in(user).filter(pk=project.pk).exists()


def projects_to_manage(user: Person) -> QuerySet[Project]:
    """Projects whose settings, members and alerts `user` may change."""
    return _projects(user, (Membership.Role.OWNER,))


def may_manage(user: Person, project: Project) -> bool:
    """True for owners of the project."""
    return projects_to_manage(user).filter(pk=project.pk).exists()


def get_project(user: Person, slug: str) -> Project:
    """Raises Http404, the same for a project that doesn't exist and for one that `user` may not see."""
    project = _only(visible_projects(user).filter(slug=slug), "project")
    asks_about(project.pk)
    return project


def get_target(user: Person, target_id: int) -> Target:
    """Raises Http404 as get_project does."""
    return _only(visible_targets(user).filter(pk=target_id), "target")


def get_discovery(user: Person, discovery_id: int) -> Discovery:
    """Raises Http404 as get_project does."""
    return _only(visible_discoveries(user).filter(pk=discovery_id), "discovery")


def get_cluster(user: Person, cluster_id: int) -> Cluster:
    """Raises Http404 as get_project does."""
    cluster = _only(alerted_clusters(user).filter(pk=cluster_id), "cluster")
    asks_about(cluster.project_id)
    return cluster


def _projects(user: Person, roles: tuple[Membership.Role, ...]) -> QuerySet[Project]:
    if not user.is_active:
        return Project.objects.none()
    projects = _existing().filter(is_own=False)
    if user.is_superuser:
        return projects
    memberships = Membership.objects.filter(user_id=user.pk, role__in=roles)
    return projects.filter(pk__in=memberships.values("project"))


def _existing() -> QuerySet[Project]:
    """Without those that are being deleted."""
    return Project.objects.exclude(pk__in=being_deleted("project"))


def _clusters_of(projects: QuerySet[Project]) -> QuerySet[Cluster]:
    clusters = Cluster.objects.exclude(pk__in=being_deleted("cluster"))
    return clusters.filter(project__in=projects).select_related("project", "target")


def _only(found: QuerySet[Item], word: str) -> Item:
    item = found.first()
    if item is None:
        raise Http404(f"This {word} doesn't exist, or you don't have access to it.")
    return item
