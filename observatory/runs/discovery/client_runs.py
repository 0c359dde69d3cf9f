"""Makes runs of the starts and ends that clients reported; each can arrive twice and in any order."""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.runs.discovery.discover import SHORTEST_RUN, drop_found_runs
from observatory.runs.models import Run
from observatory.store.client_runs import take_client_runs
from observatory.store.times import from_seconds
from observatory.wire.client_code.runs import RUNNING
from observatory.wire.records import ClientRun

EXCEPTION = "exception"
"""the tag with the type of the exception that ended a run"""


def apply_client_runs(cluster: Cluster) -> None:
    """Creates and ends runs from the reports since the last call. Needs a transaction."""
    for report in take_client_runs(cluster.pk):
        drop_found_runs(_apply(cluster, report))


def _apply(cluster: Cluster, report: ClientRun) -> Run:
    run, _ = Run.objects.get_or_create(
        cluster=cluster,
        code_id=report.run,
        defaults={
            "origin": Run.Origin.CODE,
            "name": report.name or "run",
            "tags": report.tags,
            "user": report.user,
            "code": report.code,
            "start": from_seconds(report.start),
        },
    )
    if report.outcome != RUNNING:
        run.stop = max(from_seconds(report.time), run.start + SHORTEST_RUN)
        run.outcome = Run.Outcome(report.outcome)
        run.tags.pop(EXCEPTION, None)
        if report.exception_type:
            run.tags[EXCEPTION] = report.exception_type
        run.counted = None
        run.save(update_fields=["stop", "outcome", "tags", "counted"])
    return run
