"""Permissions on runs and notes, based on those on projects (clusters/access.py)."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import QuerySet
from django.http import Http404

from observatory.clusters.access import (
    Person,
    may_manage,
    may_set_targets,
    projects_to_set_targets_in,
    visible_clusters,
)
from observatory.clusters.models import Cluster
from observatory.runs.models import Note, Run
from observatory.store.places.askers import asks_about


def visible_runs(user: Person) -> QuerySet[Run]:
    """The runs of the clusters that `user` may see."""
    return Run.objects.filter(cluster__in=visible_clusters(user)).select_related(
        "cluster", "cluster__project", "cluster__target"
    )


def get_run(user: Person, run_id: int) -> Run:
    """Raises Http404, the same for a run that doesn't exist and for one that `user` may not see."""
    run = visible_runs(user).filter(pk=run_id).first()
    if run is None:
        raise Http404("This run doesn't exist, or you don't have access to it.")
    asks_about(run.cluster.project_id)
    return run


def may_change_runs(user: Person, run: Run) -> bool:
    """True for editors and owners of the project."""
    return may_set_targets(user, run.cluster.project)


def changeable_runs(user: Person) -> QuerySet[Run]:
    """The runs that `user` may change."""
    return Run.objects.filter(cluster__project__in=projects_to_set_targets_in(user))


def may_cut_runs(user: Person, cluster: Cluster) -> bool:
    """True for editors and owners of the cluster's project; covers its notes, too."""
    return may_set_targets(user, cluster.project)


def note_changer(user: Person, cluster: Cluster) -> Callable[[Note], bool]:
    """Whether `user` may change a note of the cluster: owners, and authors who are editors."""
    is_owner, is_editor = may_manage(user, cluster.project), may_cut_runs(user, cluster)
    return lambda note: is_owner or (is_editor and note.author_id == user.pk)
