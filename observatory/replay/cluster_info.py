"""Descriptions of a cluster, or a window of it, that a page needs before it draws."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import recorded_tiles
from observatory.replay.tiles.clipping import clip_extent
from observatory.replay.tiles.extent_block import empty_extent, extent_meta
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import BINS, MAXIMUM_LEVEL, MINIMUM_LEVEL
from observatory.store.connection import read_connection
from observatory.store.ingest.agents import reported
from observatory.store.ingest.intervals import Intervals
from observatory.store.queries import timeline
from observatory.store.queries.extents import read_extent
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.blocks import decode
from observatory.wire.layers import BAND, LAYER_OF_METRIC, LAYERS, PREFIXES

THRESHOLDS = {"target": 0.6, "spill": 0.7, "pause": 0.8, "terminate": 0.95}
"""Dask's defaults of distributed.worker.memory, as fractions of a worker's limit"""


def cluster_info(scope: Scope) -> dict[str, Any]:
    """Return the API's cluster object."""
    cluster = scope.cluster
    with read_connection() as connection:
        extent = read_extent(connection, cluster.pk) or empty_extent(cluster)
        has_agent = reported(connection, cluster.pk)
    meta = extent_meta(extent, cluster)
    target = cluster.target
    info: dict[str, Any] = {
        **(meta if scope.is_whole else clip_extent(meta, scope)),
        "id": cluster.pk,
        "name": cluster.name,
        "project": {"slug": cluster.project.slug, "name": cluster.project.name},
        "target": target
        and {
            "id": target.pk,
            "name": target.name,
            "stream": target.stream,
            "last_error": target.last_error,
        },
        "scheduler_id": cluster.scheduler_id,
        "address": cluster.address,
        "has_agent": has_agent,
        "started": cluster.started.timestamp() if scope.is_whole else scope.start / 1e6,
        "now": time.time() + (target.clock_offset if target else 0.0),
        "identity_interval": cluster.identity_interval,
        "metrics_interval": cluster.metrics_interval,
        "tile_bins": BINS,
        "band": BAND,
        "minimum_level": MINIMUM_LEVEL,
        "maximum_level": MAXIMUM_LEVEL,
        "thresholds": THRESHOLDS,
        "is_whole": scope.is_whole,
        "parts": sorted(scope.sections),
    }
    if not scope.is_whole:
        info |= {"name": scope.name or cluster.name, "task_count": scope.tasks, "error_count": scope.errors}
    if scope.is_public:
        for name in ("id", "project", "target", "scheduler_id", "address"):
            info[name] = None
    return info


def lanes(scope: Scope) -> dict[str, Any]:
    """Return the workers, lanes, prefixes and series by layer; for a window those that overlap it."""
    intervals = Intervals(scope.cluster.identity_interval, scope.cluster.metrics_interval)
    with read_connection() as connection:
        dimensions = timeline.dimensions(connection, scope.cluster.pk, list(LAYER_OF_METRIC))
        if not scope.is_whole:
            dimensions = _clip(connection, dimensions, scope)
    series: dict[str, list[dict[str, Any]]] = {layer: [] for layer in LAYERS}
    for item in dimensions.series:
        layer = LAYER_OF_METRIC[item["metric"]]
        series[layer].append({**item, "interval": intervals.of(item["metric"])})
    return {
        "workers": dimensions.workers,
        "lanes": dimensions.lanes,
        "prefixes": dimensions.prefixes,
        "series": series,
    }


def _clip(
    connection: psycopg.Connection, dimensions: timeline.Dimensions, scope: Scope
) -> timeline.Dimensions:
    start, stop = scope.start / 1e6, scope.stop / 1e6
    workers = [
        {
            **worker,
            "started": max(worker["started"], start),
            **({} if _ended_by(worker, stop) else {"ended": None, "end_reason": "", "status": "running"}),
        }
        for worker in dimensions.workers
        if worker["started"] < stop and (worker["ended"] is None or worker["ended"] > start)
    ]
    known = {worker["id"] for worker in workers}
    prefixes = _prefixes(connection, scope)
    return timeline.Dimensions(
        workers,
        [lane for lane in dimensions.lanes if lane["worker"] in known],
        [prefix for prefix in dimensions.prefixes if prefix["id"] in prefixes],
        [item for item in dimensions.series if item["worker"] is None or item["worker"] in known],
    )


def _ended_by(worker: dict[str, Any], stop: float) -> bool:
    return stop == MAXIMUM_TIME / 1e6 or (worker["ended"] is not None and worker["ended"] <= stop)


def _prefixes(connection: psycopg.Connection, scope: Scope) -> set[int]:
    """Return the prefixes with spans in the window."""
    bodies = (tile.body for _, tile in recorded_tiles(connection, scope, Layer(PREFIXES)))
    blocks = (block for body in bodies for block in decode(body) if block.kind == "busy")
    return {prefix for block in blocks for prefix in block.list("prefix")}
