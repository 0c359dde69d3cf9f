"""Selects the runs that a run is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Value
from django.http import Http404

from observatory.clusters.access import Person
from observatory.runs.access import get_run, visible_runs
from observatory.runs.models import Run

MOST_EARLIER = 20
"""earlier runs whose median a run is compared with"""
RUNS_OF_QUERY = 50
"""runs whose earlier runs are read by one query"""


def runs_of_name(user: Person, name: str, project: str) -> QuerySet[Run]:
    """The runs of a name in a project (its slug) that `user` may see, the newest first."""
    return visible_runs(user).filter(name=name, cluster__project__slug=project).order_by("-start", "-pk")


def earlier_runs(user: Person, run: Run, count: int) -> Sequence[Run]:
    """The last `count` finished runs of the same name and project before `run`, newest first."""
    runs = runs_of_name(user, run.name, run.cluster.project.slug)
    return list(finished_before(runs, run.start, run.pk)[:count])


def last_runs_before(run: Run) -> QuerySet[Run]:
    """The last MOST_EARLIER finished runs of the same name and project before `run`, newest first."""
    runs = Run.objects.filter(name=run.name, cluster__project=run.cluster.project_id)
    return finished_before(runs.order_by("-start", "-pk"), run.start, run.pk)[:MOST_EARLIER]


def last_runs_before_each() -> QuerySet[Run]:
    """last_runs_before() of each run of an outer query, as a subquery."""
    runs = Run.objects.filter(name=OuterRef("name"), cluster__project=OuterRef("cluster__project"))
    return finished_before(runs.order_by("-start", "-pk"), OuterRef("start"), OuterRef("pk"))[:MOST_EARLIER]


def earlier_by_run(
    runs: Sequence[Run], most: int, outcomes: Sequence[Run.Outcome] = (Run.Outcome.FINISHED,)
) -> dict[int, list[Run]]:
    """For each run the last `most` runs of its name and project that began before it and had ended by its
    end, oldest first. `runs` have ended."""
    found: dict[int, list[Run]] = {run.pk: [] for run in runs}
    for place in range(0, len(runs), RUNS_OF_QUERY):
        queries = [_earlier(run, most, outcomes) for run in runs[place : place + RUNS_OF_QUERY]]
        for earlier in queries[0].union(*queries[1:], all=True):
            found[earlier.later].append(earlier)  # type: ignore[attr-defined]
    return {run: sorted(earlier, key=lambda each: (each.start, each.pk)) for run, earlier in found.items()}


def _earlier(run: Run, most: int, outcomes: Sequence[Run.Outcome]) -> QuerySet[Run]:
    runs = Run.objects.filter(
        name=run.name,
        cluster__project=run.cluster.project_id,
        outcome__in=outcomes,
        start__lt=run.start,
        stop__lte=run.stop,
    )
    newest = runs.exclude(pk=run.pk).order_by("-start", "-pk")[:most]
    return newest.defer("contents", "code").annotate(later=Value(run.pk))


def finished_before(runs: QuerySet[Run], start: datetime | OuterRef, pk: int | OuterRef) -> QuerySet[Run]:
    """Those of `runs` but `pk` that finished and began before `start`."""
    finished = runs.filter(outcome=Run.Outcome.FINISHED, start__lt=start, stop__isnull=False)
    return finished.exclude(pk=pk)


def runs_to_compare(user: Person, a: int, b: int | None, last: int | None) -> tuple[Run, Sequence[Run]]:
    """The run `a` and the runs to compare it with. Raises Http404 for runs that `user` may not see."""
    run = get_run(user, a)
    if b is not None:
        return run, [get_run(user, b)]
    others = earlier_runs(user, run, last or MOST_EARLIER)
    if not others:
        raise Http404("No earlier run with this name has finished. Choose another run to compare with.")
    return run, others
