"""What Celery does for runs: finds them, counts their figures, and keeps what is kept of them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import psycopg
from celery import shared_task
from django.db import DatabaseError, transaction
from django.db.models import Max, Q
from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project
from observatory.replay.tiles.builder import build_window_tiles
from observatory.runs.discovery.client_runs import take_up
from observatory.runs.discovery.finding import find
from observatory.runs.figures import count, name
from observatory.runs.keeping import kept_windows
from observatory.runs.models import Run, Search
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.ingest.client_runs import noted
from observatory.store.ingest.late import note_since
from observatory.store.maintenance.retention import apply_retention, delete_cluster
from observatory.store.queries.extents import extents, unknown_clusters

log = logging.getLogger(__name__)

LATELY = timedelta(days=1)
"""ago, in which the clusters ended that are looked at"""
REFRESHED = timedelta(minutes=1)
"""after which the figures of a run that goes on are counted again"""
DEFAULT_DAYS = 30
"""kept where there is no project yet"""


@shared_task  # type: ignore[untyped-decorator]
def find_runs() -> None:
    """Looks at what is new in the clusters' timelines, then counts the figures of the runs that changed."""
    told = noted()
    going_on = Run.objects.filter(stop=None).values("cluster")
    wanted = Q(ended=None) | Q(ended__gt=now() - LATELY) | Q(search=None) | Q(pk__in=going_on)
    clusters = Cluster.objects.filter(wanted | Q(pk__in=told)).select_related("project")
    for cluster in clusters.order_by("pk"):
        try:
            look_at(cluster)
        except (psycopg.Error, DatabaseError):  # one that is being deleted, or a database that is away
            log.exception("the runs of cluster %d are found later", cluster.pk)
    counted = Q(counted=None) | Q(stop=None, counted__lt=now() - REFRESHED)
    for run in Run.objects.filter(counted, origin__in=(Run.Origin.FOUND, Run.Origin.CODE)):
        try:
            name(run)
            count(run)
            if run.stop is not None:
                note_since(run.cluster_id, run.stop)
                _prepare(run)
        except (psycopg.Error, DatabaseError):
            log.exception("the figures of run %d are counted later", run.pk)


def _prepare(run: Run) -> None:
    """What its page asks for first is there when it is opened."""
    with read_connection() as connection:
        build_window_tiles(connection, scope_of_run(run))


def look_at(cluster: Cluster) -> None:
    """Takes up what clients told of their runs, and finds others, unless somebody else is about it."""
    with transaction.atomic():
        Search.objects.get_or_create(cluster=cluster)
        search = Search.objects.select_for_update(skip_locked=True).filter(cluster=cluster).first()
        if search is None:
            return
        take_up(cluster)
        extent = extents([cluster.pk]).get(cluster.pk)
        if extent is not None:
            with read_connection() as connection:
                find(connection, cluster, search, extent)


@shared_task  # type: ignore[untyped-decorator]
def enforce_retention() -> None:
    """Removes what is older than its project keeps it, and what belongs to clusters that are deleted."""
    orphans = unknown_clusters()
    for cluster in orphans:
        delete_cluster(cluster)
    days = dict(Cluster.objects.values_list("pk", "project__retention_days"))
    longest = Project.objects.aggregate(longest=Max("retention_days"))["longest"] or DEFAULT_DAYS
    retained = apply_retention(days, longest, datetime.now(UTC), kept_windows())
    if retained.dropped or retained.deleted:
        log.info("retention dropped %d partitions and %d rows", retained.dropped, retained.deleted)
