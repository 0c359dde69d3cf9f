"""Celery tasks of replay: build tiles and keyframes, so that a run opens quickly when it ends."""

from __future__ import annotations

import logging
from datetime import timedelta

import psycopg
from celery import shared_task
from django.db.models import Q
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.replay.tiles.builder import BASE_LEVEL, build_cluster_tiles
from observatory.replay.tiles.layers import built_layers
from observatory.store.connection import build_connection
from observatory.store.maintenance.advisory_lock import TILES, try_lock
from observatory.store.maintenance.kept_seconds import keep_seconds
from observatory.store.maintenance.keyframes import make_keyframes
from observatory.store.maintenance.result_keyframes import make_result_keyframes
from observatory.store.queries.extents import SETTLING, Extent, extents, reached_since, read_extent

log = logging.getLogger(__name__)

RECENT = timedelta(days=1)
"""how long ended clusters are still checked"""
STEP = BASE_LEVEL + 9
"""bits of a time in microseconds, after whose change there is something to build: each 34 s"""
CLUSTERS_OF_STEP = 25
"""live clusters up to which each is looked at each 34 s; it is each 67 s up to twice as many, and so on"""
MAXIMUM_STEP = STEP + 4
FEW_WORKERS = 50
"""workers up to which the longest step is used at once, if there are more clusters"""
FEWEST_WORKERS = 8
"""workers up to which it is the longest step of the smallest clusters, likewise"""
STEP_OF_SMALLEST = STEP + 7
"""73 minutes: pages build in a moment what has closed since"""
SPREADING = 0x9E3779B97F4A7C15
"""a large odd number: its multiples are spread evenly over a step"""
MAXIMUM_CACHED = 10_000

_built: dict[int, tuple[int, int]] = {}
"""version and position up to which this process has built everything, by cluster"""


@shared_task  # type: ignore[untyped-decorator]
def build_tiles() -> None:
    """Build what has closed since the last call; clusters without changes cost one query together."""
    reached = reached_since(now() - RECENT)
    changed = [key for key, (version, sequence) in reached.items() if _built.get(key) != (version, -sequence)]
    is_open = Q(ended=None) | Q(pk__in=changed)
    clusters = list(Cluster.objects.filter(is_open, project__is_own=False).order_by("-last_seen"))
    known = extents(cluster.pk for cluster in clusters)
    live = sum(cluster.is_live for cluster in clusters)
    for cluster in clusters:
        extent = known.get(cluster.pk)
        if extent is not None and _has_news(cluster, extent, _step(live, extent.workers)):
            build_if_unlocked(cluster)


def build_if_unlocked(cluster: Cluster) -> None:
    """Build the missing tiles of a cluster unless another process does; failures are retried later."""
    try:
        with build_connection() as connection, try_lock(connection, cluster.pk, TILES) as is_locked:
            if is_locked:
                build_cluster(connection, cluster)
    except psycopg.Error:  # the cluster is being deleted, or the database is unavailable
        log.exception("building tiles of cluster %d failed; it is retried", cluster.pk)


def build_cluster(connection: psycopg.Connection, cluster: Cluster) -> None:
    """Build the missing tiles and keyframes of a cluster."""
    extent = read_extent(connection, cluster.pk)
    if extent is None:
        return
    if not _has_news(cluster, extent, STEP):
        return
    reached = _reached(cluster, extent)
    made = built = 0
    if extent.first:
        until = _closed_until(extent)
        made = make_keyframes(connection, extent, until) + make_result_keyframes(connection, extent, until)
        built = sum(build_cluster_tiles(connection, cluster, layer) for layer in built_layers(extent.workers))
        if not cluster.is_live:
            keep_seconds(connection, extent)
    if len(_built) >= MAXIMUM_CACHED:
        _built.clear()
    _built[cluster.pk] = reached
    if made or built:
        log.info("built %d tiles and %d keyframes of cluster %d", built, made, cluster.pk)


def _step(live: int, workers: int) -> int:
    """Return the step of a cluster with `workers` that is one of `live`.

    What isn't built ahead is built when a page asks for it, which takes little time of a small cluster.
    """
    if live > CLUSTERS_OF_STEP and workers <= FEW_WORKERS:
        return STEP_OF_SMALLEST if workers <= FEWEST_WORKERS else MAXIMUM_STEP
    return min(MAXIMUM_STEP, STEP + (live // CLUSTERS_OF_STEP).bit_length())


def _has_news(cluster: Cluster, extent: Extent, step: int) -> bool:
    """Return whether there is something to build: all of an ended cluster, the closed steps of a live one.

    The longer steps of clusters end at different times, so that they are not built all at once; those of a
    new one are counted from its first record.
    """
    reached, built = _reached(cluster, extent), _built.get(cluster.pk)
    if not cluster.is_live:
        return built != reached
    version, position = built or (extent.version, round(extent.first * 1e6))
    offset = cluster.pk * SPREADING % (1 << step) if step > STEP else 0
    return (version, (position + offset) >> step) != (reached[0], (reached[1] + offset) >> step)


def _reached(cluster: Cluster, extent: Extent) -> tuple[int, int]:
    """Return the version and position up to which a cluster's tiles can be built."""
    return extent.version, _closed_until(extent) if cluster.is_live else -extent.sequence


def _closed_until(extent: Extent) -> int:
    """Return the time (microseconds) before which all records have come, late ones aside."""
    return round((extent.committed - SETTLING) * 1e6)
