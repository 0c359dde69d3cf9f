"""The watermark of a cluster: the time up to which it can be evaluated.

It follows the cluster's complete data, or else the clock; docs/alerts.md describes the rule. Times are
seconds on the scheduler's clock; `now` is on ours.
"""

from __future__ import annotations

from observatory.clusters.live.scheduler_clock import scheduler_time
from observatory.clusters.models import Cluster
from observatory.store.late_records import LATENESS
from observatory.store.queries.extents import Extent

USUAL_INTERVAL = 1.0
"""seconds between two polls of a scheduler, for which LATENESS is chosen"""
GRACE = 20.0
"""seconds without data from a cluster after which evaluation follows the clock. The end of a scheduler is
reported after 12 s, another collector takes over within 10 s, and at rest batches are 12 s apart"""


def settled(cluster: Cluster, extent: Extent) -> float:
    """The time before which all data has arrived, except for late data."""
    return extent.committed - LATENESS - _extra_interval(cluster)


def watermark(cluster: Cluster, extent: Extent, now: float) -> float:
    """The time up to which the cluster can be evaluated. An ended cluster has no grace period."""
    grace = (LATENESS if cluster.ended else GRACE) + _extra_interval(cluster)
    return max(settled(cluster, extent), scheduler_time(cluster, extent, now) - grace)


def _extra_interval(cluster: Cluster) -> float:
    """Seconds by which the cluster's polling interval is longer than the usual one."""
    return max(0.0, cluster.identity_interval - USUAL_INTERVAL)
