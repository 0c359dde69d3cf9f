"""Who may see and change which runs. clusters/access.py says who may see which projects."""

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


def visible_runs(user: Person) -> QuerySet[Run]:
    """The runs of the clusters that `user` may see."""
    return Run.objects.filter(cluster__in=visible_clusters(user)).select_related(
        "cluster", "cluster__project", "cluster__target"
    )


def get_run(user: Person, run_id: int) -> Run:
    """Raises Http404 for a run that isn't there and one that `user` may not see alike."""
    run = visible_runs(user).filter(pk=run_id).first()
    if run is None:
        raise Http404("There is no such run, or you may not see it.")
    return run


def may_change_runs(user: Person, run: Run) -> bool:
    """True for editors and owners of the project: they name, tag, pin, share and delete its runs."""
    return may_set_targets(user, run.cluster.project)


def changeable_runs(user: Person) -> QuerySet[Run]:
    """The runs that `user` may change."""
    return Run.objects.filter(cluster__project__in=projects_to_set_targets_in(user))


def may_cut_runs(user: Person, cluster: Cluster) -> bool:
    """True for editors and owners of the cluster's project: they also write its notes."""
    return may_set_targets(user, cluster.project)


def note_changer(user: Person, cluster: Cluster) -> Callable[[Note], bool]:
    """Says of a note of the cluster whether `user` may change it: its author, while an editor, and owners."""
    is_owner, is_editor = may_manage(user, cluster.project), may_cut_runs(user, cluster)
    return lambda note: is_owner or (is_editor and note.author_id == user.pk)
