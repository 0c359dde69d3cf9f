"""Windows that retention keeps: those of runs that are pinned or shared by a valid link."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.timezone import now

from observatory.clusters.models import Project
from observatory.runs.models import Permalink, Run
from observatory.store.maintenance.retained_windows import RetainedWindow

AROUND = timedelta(minutes=1)
"""kept before and after a run: rates and counts at its start are computed from earlier samples"""


def retained_windows(project: Project | None = None) -> list[RetainedWindow]:
    """One window for each such run, of a project or all; an open run's window ends now."""
    current = now()
    runs = retained_runs(current)
    if project is not None:
        runs = runs.filter(cluster__project=project)
    return [
        RetainedWindow(cluster, start - AROUND, (stop or current) + AROUND)
        for cluster, start, stop in runs.values_list("cluster", "start", "stop")
    ]


def retained_runs(current: datetime) -> QuerySet[Run]:
    links = Permalink.objects.filter(
        Q(expires=None) | Q(expires__gt=current), run=OuterRef("pk"), revoked=None
    )
    return Run.objects.filter(Q(pinned=True) | Exists(links))
