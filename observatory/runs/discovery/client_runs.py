"""Runs that were opened from code: what clients told, once or twice and in any order, as runs."""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.runs.discovery.finding import AN_INSTANT, drop_found_in
from observatory.runs.models import Run
from observatory.store.ingest.client_runs import taken
from observatory.store.times import from_seconds
from observatory.wire.records import OpenedRun
from observatory.wire.runs import RUNNING

EXCEPTION = "exception"
"""the tag that names the exception with which a run ended"""


def take_up(cluster: Cluster) -> None:
    """Makes the runs that clients told of since the last time; call it in a transaction."""
    for told in taken(cluster.pk):
        drop_found_in(_take_up(cluster, told))


def _take_up(cluster: Cluster, told: OpenedRun) -> Run:
    run, _ = Run.objects.get_or_create(
        cluster=cluster,
        code_id=told.run,
        defaults={
            "origin": Run.Origin.CODE,
            "name": told.name or "run",
            "tags": told.tags,
            "user": told.user,
            "code": told.code,
            "start": from_seconds(told.start),
        },
    )
    if told.outcome != RUNNING:
        run.stop = max(from_seconds(told.time), run.start + AN_INSTANT)
        run.outcome = Run.Outcome(told.outcome)
        run.tags.pop(EXCEPTION, None)
        if told.exception_type:
            run.tags[EXCEPTION] = told.exception_type
        run.counted = None
        run.save(update_fields=["stop", "outcome", "tags", "counted"])
    return run
