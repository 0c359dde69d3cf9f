"""Celery tasks of runs: discovery, figures and retention."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import monotonic

import psycopg
from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project
from observatory.replay.tiles.builder import build_window_tiles, forget_other_windows
from observatory.runs.discovery.client_runs import apply_client_runs
from observatory.runs.discovery.discover import discover_runs
from observatory.runs.models import Run, RunDiscovery
from observatory.runs.refresh import extend_to_last_tasks, refresh_figures, refresh_name
from observatory.runs.retention.quotas import days_within_quotas
from observatory.runs.retention.retained_windows import retained_windows
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.usage.counting import count_clusters, count_runs
from observatory.store.audit.entries import remove_older
from observatory.store.client_runs import clusters_with_client_runs
from observatory.store.connection import read_connection
from observatory.store.late_records import COUNTING, note_since
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.extents import extents, unknown_clusters, unsearched_clusters

log = logging.getLogger(__name__)

RECENT = timedelta(days=1)
"""clusters that ended within this time are still searched"""
REFRESH_INTERVAL = timedelta(minutes=1)
"""between two counts of an open run's figures"""
CLUSTERS_OF_TURN = 50
"""live clusters that are searched in each round; of more, each waits for its turn"""
MOST_TURNS = 8
GOING_ON = 4
"""times as long a cluster waits for its turn, where there are several, while its open run goes on"""
TURN = 15.0
"""seconds of a turn: the interval of the rounds (settings.CELERY_BEAT_SCHEDULE)"""
ROUND = 15.0
"""seconds in which runs are counted, after which those of others that ended meanwhile have their turn"""
LATE = timedelta(seconds=COUNTING)
"""after the end of a run, in which records of its tasks still arrive"""
COUNTED_AGAIN = (Run.Origin.FOUND, Run.Origin.CODE)
"""origins of runs whose figures follow their records"""
DEFAULT_DAYS = 30
"""retention while there is no project"""

_records: dict[int, int] = {}
"""the number of records, in the last round of this process, of the clusters that weren't searched since"""


@shared_task  # type: ignore[untyped-decorator]
def find_runs() -> None:
    """Searches the new records of all clusters for runs, then refreshes the runs that changed."""
    turns = min(MOST_TURNS, 1 + Cluster.objects.filter(ended=None).count() // CLUSTERS_OF_TURN)
    for cluster in _clusters_to_search(turns, _turn()):
        try:
            discover(cluster)
        except (psycopg.Error, DatabaseError):  # a cluster that is being deleted, or no database
            log.exception("couldn't search cluster %d for runs, will try again", cluster.pk)
    stale = (
        Q(counted=None)
        | Q(stop=None, counted__lt=now() - turns * REFRESH_INTERVAL)
        | Q(counted__lt=F("stop") + LATE)
        | Q(counted__lt=F("records_came") + LATE)
    )
    for run in _in_turn(Run.objects.filter(stale, origin__in=COUNTED_AGAIN)):
        try:
            extend_to_last_tasks(run)
            refresh_name(run)
            refresh_figures(run)
            if run.stop is not None:
                note_since(run.cluster_id, run.stop)
                _build_tiles(run)
        except (psycopg.Error, DatabaseError):
            log.exception("couldn't count the figures of run %d, will try again", run.pk)


@shared_task  # type: ignore[untyped-decorator]
def count_usage() -> None:
    """Counts what clusters and runs used on each day, as far as it isn't counted."""
    try:
        count_clusters()
        count_runs()
    except (psycopg.Error, DatabaseError):
        log.exception("couldn't count the usage, will try again")


def _in_turn(runs: QuerySet[Run]) -> Iterator[Run]:
    """One run of each project, then the next of each, for a ROUND: the others follow in the next one."""
    waiting: dict[int, deque[int]] = {}
    for key, project in runs.values_list("pk", "cluster__project"):
        waiting.setdefault(project, deque()).append(key)
    until = monotonic() + ROUND
    while waiting:
        for project, keys in tuple(waiting.items()):
            if monotonic() >= until:
                return
            run = Run.objects.select_related("cluster").filter(pk=keys.popleft()).first()
            if not keys:
                del waiting[project]
            if run is not None:
                yield run


def _build_tiles(run: Run) -> None:
    """Builds the tiles that the run's page loads first; those of windows that runs had before are deleted."""
    scopes = map(scope_of_run, run.cluster.runs.defer("code", "figures", "contents"))
    with read_connection() as connection:
        forget_other_windows(connection, run.cluster, scopes)
        build_window_tiles(connection, scope_of_run(run))


def _turn() -> int:
    return int(time.time() // TURN)


def _clusters_to_search(turns: int, turn: int) -> Iterator[Cluster]:
    """Those of which there are new records or reports of clients, and those with open runs, which may end.

    A live cluster without reports waits for its turn, which is one of `turns`. It waits GOING_ON times as
    long while it has an open run and new records in each round: that run has not ended then.
    """
    reported = set(clusters_with_client_runs())
    unsearched, before = unsearched_clusters(now() - RECENT), dict(_records)
    _records.clear()
    _records.update(unsearched)
    open_runs = set(Run.objects.filter(stop=None).values_list("cluster", flat=True))
    going_on = {key for key in open_runs & before.keys() if before[key] < unsearched.get(key, 0)}
    searched = reported.union(open_runs, unsearched)
    for cluster in Cluster.objects.filter(pk__in=searched).select_related("project").order_by("pk"):
        every = turns * GOING_ON if turns > 1 and cluster.pk in going_on else turns
        if cluster.pk in reported or not cluster.is_live or (cluster.pk - turn) % every == 0:
            yield cluster


def discover(cluster: Cluster) -> None:
    """Applies the reports of clients, then searches for other runs, unless another process does both now."""
    with transaction.atomic():
        RunDiscovery.objects.get_or_create(cluster=cluster)
        discovery = RunDiscovery.objects.select_for_update(skip_locked=True).filter(cluster=cluster).first()
        if discovery is None:
            return
        apply_client_runs(cluster)
        extent = extents([cluster.pk]).get(cluster.pk)
        if extent is not None:
            with read_connection() as connection:
                discover_runs(connection, cluster, discovery, extent)


@shared_task  # type: ignore[untyped-decorator]
def enforce_retention() -> None:
    """Removes records past their project's retention, those of deleted clusters, and old entries of the
    audit log."""
    orphans = unknown_clusters()
    for cluster in orphans:
        delete_cluster(cluster)
    projects, current = list(Project.objects.all()), datetime.now(UTC)
    by_project = {project.pk: project.effective_retention_days for project in projects}
    within = days_within_quotas(projects, current)
    days = {
        cluster: min(by_project[project], within.get(project, math.inf))
        for cluster, project in Cluster.objects.values_list("pk", "project")
        if project in by_project
    }
    longest = max(by_project.values(), default=DEFAULT_DAYS)
    retained = apply_retention(days, longest, current, retained_windows())
    if retained.dropped or retained.deleted:
        log.info("retention dropped %d partitions and %d rows", retained.dropped, retained.deleted)
    remove_older(current - timedelta(days=settings.AUDIT_DAYS))
