"""What Celery does for replay: tiles and keyframes, so that a run is ready to be opened when it ends."""

from __future__ import annotations

import logging
from datetime import timedelta

import psycopg
from celery import shared_task
from django.db.models import Q
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.replay.tiles.builder import BASE_LEVEL, build_cluster_tiles
from observatory.replay.tiles.layers import layers_for
from observatory.store.connection import read_connection
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.maintenance.keyframes import make_keyframes
from observatory.store.maintenance.tile_cache import alone
from observatory.store.queries.extents import read_extent

log = logging.getLogger(__name__)

LATELY = timedelta(days=1)
"""ago, in which the clusters ended that are looked at"""
MOST_REMEMBERED = 10_000

_built: dict[int, tuple[int, ...]] = {}
"""by cluster: up to where this process has built everything"""


@shared_task  # type: ignore[untyped-decorator]
def build_tiles() -> None:
    """Goes on where it stopped; where nothing closed since, a cluster costs one look."""
    lately = Q(ended=None) | Q(ended__gt=now() - LATELY)
    for cluster in Cluster.objects.filter(lately).order_by("-last_seen"):
        build_if_unlocked(cluster)


def build_if_unlocked(cluster: Cluster) -> None:
    """Builds what is missing of one cluster, unless somebody else is about it; what fails is built later."""
    try:
        with read_connection() as connection, alone(connection, cluster.pk) as is_alone:
            if is_alone:
                build_cluster(connection, cluster)
    except psycopg.Error:  # one that is being deleted, or a database that is away
        log.exception("the tiles of cluster %d are built later", cluster.pk)


def build_cluster(connection: psycopg.Connection, cluster: Cluster) -> None:
    """Builds what is missing of one cluster."""
    extent = read_extent(connection, cluster.pk)
    if extent is None or not extent.first:
        return
    until = round((extent.committed - SETTLING) * 1e6)
    reached = (extent.version, until >> (BASE_LEVEL + 9) if cluster.is_live else -extent.sequence)
    if _built.get(cluster.pk) == reached:
        return
    made = make_keyframes(connection, cluster.pk, round(extent.first * 1e6), until)
    built = sum(build_cluster_tiles(connection, cluster, layer) for layer in layers_for(extent.workers))
    if len(_built) >= MOST_REMEMBERED:
        _built.clear()
    _built[cluster.pk] = reached
    if made or built:
        log.info("cluster %d: %d tiles and %d keyframes built", cluster.pk, built, made)
