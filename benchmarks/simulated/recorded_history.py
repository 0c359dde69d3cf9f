"""What years of use leave in the database: ended clusters and their runs, errors, logs, alerts and links.

Records are stored by the writer. What the product counts of a run is counted once, and copied to all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import F
from django.utils.timezone import now

from benchmarks.simulated.ended_clusters import SECONDS, make_ended
from observatory.alerts.models import Alert, Rule
from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Permalink, Run, RunError, RunFindings, Usage
from observatory.runs.refresh import refresh_figures
from observatory.runs.sharing.links import make_link
from observatory.store.ingest.joint_writer import JointWriter

PROJECTS, NAMES = 10, 200
"""each name has runs in all projects"""
HISTORY = 27 * 86_400.0
"""seconds over which clusters are spread"""
ERRED, LINKED = 10, 500
"""one of so many runs"""
ALERTED = 5
"""one of so many clusters"""
TOGETHER = 100
"""clusters of a transaction"""


def store_history(clusters: int, runs: int, person: User) -> None:
    """Store `clusters` ended clusters with `runs` runs in all; `person` is a member of the projects."""
    projects = [Project.objects.create(name=f"Team {each}", slug=f"team-{each}") for each in range(PROJECTS)]
    Membership.objects.bulk_create(
        Membership(project=project, user=person, role=Membership.Role.OWNER) for project in projects
    )
    first, apart = now().timestamp() - 3_600 - HISTORY, HISTORY / clusters
    with JointWriter() as writer:
        for begin in range(0, clusters, TOGETHER):
            numbers = range(begin, min(begin + TOGETHER, clusters))
            made = [make_ended(projects[each % PROJECTS], each, first + each * apart) for each in numbers]
            for stored in writer.write_together(made):
                if isinstance(stored, Exception):
                    raise stored
    ended = list(Cluster.objects.filter(project__in=projects).order_by("pk"))
    _store_runs(ended, runs // clusters)
    _store_alerts(ended[::ALERTED])
    for run in Run.objects.annotate(place=F("pk") % LINKED).filter(place=0):
        make_link(Permalink(run=run), person)


def _store_runs(clusters: list[Cluster], each: int) -> None:
    template = next(_runs(clusters[0], 1))
    template.save()
    refresh_figures(template)
    template.delete()
    counted = {
        "figures": template.figures,
        "contents": template.contents,
        "tasks": template.tasks,
        "counted": now(),
        "sums_counted": now(),
    }
    for begin in range(0, len(clusters), 500):
        made = []
        for cluster in clusters[begin : begin + 500]:
            for run in _runs(cluster, each):
                for name, value in counted.items():
                    setattr(run, name, value)
                made.append(run)
        Run.objects.bulk_create(made)
        RunFindings.objects.bulk_create(map(_findings, made))
        Usage.objects.bulk_create(map(_usage, made))
        RunError.objects.bulk_create(_error(run) for run in made if run.outcome == Run.Outcome.ERRED)


def _runs(cluster: Cluster, each: int) -> Iterator[Run]:
    length = SECONDS / each
    for place in range(each):
        number = cluster.pk * each + place
        start = cluster.started + timedelta(seconds=place * length)
        has_erred = number % ERRED == 0
        yield Run(
            cluster=cluster,
            name=f"etl-{number * 7 % NAMES}",
            origin=Run.Origin.CODE if number % 3 else Run.Origin.FOUND,
            outcome=Run.Outcome.ERRED if has_erred else Run.Outcome.FINISHED,
            start=start,
            stop=start + timedelta(seconds=length * 0.9),
            user=f"user{number % 50}",
            tags={"git": f"{number * 2654435761 % 2**32:08x}", "branch": f"branch-{number % 40}"},
            errors=3 if has_erred else 0,
        )


def _findings(run: Run) -> RunFindings:
    is_found = run.start.second % 2 == 0
    return RunFindings(
        run=run,
        state=RunFindings.State.FOUND if is_found else RunFindings.State.NONE,
        counted=run.counted,
        kind="stragglers" if is_found else "",
        sentence="3 tasks of inc took 12 s longer than the others" if is_found else "",
        thread_seconds=40.0,
        wall_seconds=12.0,
    )


def _usage(run: Run) -> Usage:
    return Usage(
        cluster=run.cluster,
        run=run,
        day=run.start.date(),
        until=run.stop,
        cluster_seconds=3,
        worker_seconds=6,
        thread_seconds=12,
        busy_seconds=6,
        tasks=run.tasks,
    )


def _error(run: Run) -> RunError:
    return RunError(
        run=run,
        exception_type=("ValueError", "KeyError", "MemoryError")[run.pk % 3],
        place=f"load in jobs/etl_{run.pk % 60}.py",
        function="load",
        file=f"jobs/etl_{run.pk % 60}.py",
        line=17,
        prefix="inc",
        count=3,
        first=run.start,
        last=run.stop,
        last_id="00000000-0000-0000-0000-000000000001",
        message="a value that was not expected",
    )


def _store_alerts(clusters: list[Cluster]) -> None:
    rules = list(Rule.objects.order_by("pk")[:20])
    Alert.objects.bulk_create(
        (
            Alert(
                rule=rules[cluster.pk % len(rules)],
                cluster=cluster,
                severity="warning",
                state=Alert.State.RESOLVED,
                pending=cluster.started,
                fired=cluster.started,
                resolved=cluster.ended,
                fingerprint=f"{cluster.pk:032x}",
                message=f"the memory of cluster {cluster.pk} is at 91 %",
            )
            for cluster in clusters
        ),
        batch_size=1_000,
    )
