"""Runs by the ids that client code gave them, as soon as their agent has reported them."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404

from observatory.clusters.access import Person, visible_clusters
from observatory.runs.access import visible_runs
from observatory.runs.models import Run
from observatory.runs.tasks import discover
from observatory.store.client_runs import clusters_with_client_run


def get_run_from_code(user: Person, code_id: UUID) -> Run:
    """Makes a run of the reports that aren't looked at yet. Raises Http404 as get_run does."""
    for cluster in visible_clusters(user).filter(pk__in=clusters_with_client_run(code_id)):
        discover(cluster)
    run = visible_runs(user).filter(code_id=code_id).first()
    if run is None:
        raise Http404("No run with this id was reported yet, or you don't have access to it.")
    return run
