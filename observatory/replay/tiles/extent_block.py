"""The extent of a cluster as its tiles and pages have it."""

from __future__ import annotations

from typing import Any

from observatory.clusters.models import Cluster
from observatory.store.blocks import timeline_blocks
from observatory.store.queries.extents import Extent


def empty_extent(cluster: Cluster) -> Extent:
    """Return the extent of a cluster without stored batches."""
    started = cluster.started.timestamp()
    return Extent(cluster.pk, started, started, started, 1, 0, 0, 0, 0, 0)


def extent_block(extent: Extent, cluster: Cluster) -> bytes:
    """Encode the extent of a cluster."""
    return timeline_blocks.extent_block(extent, _status(cluster))


def extent_meta(extent: Extent, cluster: Cluster) -> dict[str, Any]:
    """Return the meta of a cluster's `extent` block."""
    return timeline_blocks.extent_meta(extent, _status(cluster))


def _status(cluster: Cluster) -> dict[str, Any]:
    return {
        **cluster.end,
        "stream": cluster.target.stream if cluster.target else "unknown",
    }
