"""The `extent` block, with which every tile begins."""

from __future__ import annotations

from dataclasses import asdict

from observatory.clusters.models import Cluster
from observatory.store.queries.extents import Extent
from observatory.wire.timeline_blocks import EXTENT


def empty_extent(cluster: Cluster) -> Extent:
    """Return the extent of a cluster without stored batches."""
    started = cluster.started.timestamp()
    return Extent(cluster.pk, started, started, started, 1, 0, 0, 0, 0, 0)


def extent_block(extent: Extent, cluster: Cluster) -> bytes:
    """Encode the extent of a cluster."""
    return EXTENT.encode({}, extent_meta(extent, cluster))


def extent_meta(extent: Extent, cluster: Cluster) -> dict[str, object]:
    """Return the meta of an `extent` block."""
    fields = asdict(extent)
    target = cluster.target
    return {
        **{name: fields[name] for name in ("first", "last", "committed", "version", "sequence")},
        "task_count": extent.tasks,
        "error_count": extent.errors,
        "worker_count": extent.workers,
        "ended": cluster.ended.timestamp() if cluster.ended else None,
        "end_reason": cluster.end_reason,
        "stream": target.stream if target else "unknown",
    }
