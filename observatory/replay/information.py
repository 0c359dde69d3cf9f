"""*cluster* of docs/architecture.md: what the page has to know before it draws."""

from __future__ import annotations

import time
from typing import Any

from observatory.clusters.models import Cluster
from observatory.replay.levels import BINS, MAXIMUM_LEVEL, MINIMUM_LEVEL
from observatory.replay.tiles import extent_meta, nothing
from observatory.store import timeline
from observatory.store.agents import reported
from observatory.store.connection import reading
from observatory.wire.layers import BAND

THRESHOLDS = {"target": 0.6, "spill": 0.7, "pause": 0.8, "terminate": 0.95}
"""Dask's defaults of distributed.worker.memory, fractions of a worker's limit (no cluster tells its own)"""


def information(cluster: Cluster) -> dict[str, Any]:
    with reading() as connection:
        extent = timeline.extent(connection, cluster.pk) or nothing(cluster)
        has_agent = reported(connection, cluster.pk)
    target = cluster.target
    return {
        **extent_meta(extent, cluster),
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
        "started": cluster.started.timestamp(),
        "now": time.time() + (target.clock_offset if target else 0.0),
        "identity_interval": cluster.identity_interval,
        "metrics_interval": cluster.metrics_interval,
        "tile_bins": BINS,
        "band": BAND,
        "minimum_level": MINIMUM_LEVEL,
        "maximum_level": MAXIMUM_LEVEL,
        "thresholds": THRESHOLDS,
    }
