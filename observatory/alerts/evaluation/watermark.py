"""How far a cluster can be evaluated: as far as its data is complete, or else by the clock.

docs/alerts.md says the rule. All times are seconds on the scheduler's clock, `now` is on ours.
"""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.store.ingest.late import LATENESS
from observatory.store.queries.extents import Extent

USUAL_INTERVAL = 1.0
"""seconds between two polls of a scheduler, which LATENESS is made for"""
GRACE = 15.0
"""seconds after which what a silent cluster doesn't tell is taken for not there. A scheduler's end is told
12 s after it, and another collector takes over within 10"""


def settled(cluster: Cluster, extent: Extent) -> float:
    """Before this time nothing is to come any more, unless it is late."""
    return extent.committed - LATENESS - _slowness(cluster)


def horizon(cluster: Cluster, extent: Extent, now: float) -> float:
    """Up to this time the cluster can be evaluated. What ended has nothing to wait for."""
    grace = (LATENESS if cluster.ended else GRACE) + _slowness(cluster)
    return max(settled(cluster, extent), clock(cluster, extent, now) - grace)


def clock(cluster: Cluster, extent: Extent, now: float) -> float:
    """The scheduler's clock, as far as it is known.

    An agent's is known by how far all was told when it was last heard. So while it sends what it kept during
    an outage, the cluster isn't taken for silent.
    """
    if cluster.target is not None:
        return now + cluster.target.clock_offset
    if cluster.agent_heard is not None and extent.committed:
        return extent.committed + now - cluster.agent_heard.timestamp()
    return now


def _slowness(cluster: Cluster) -> float:
    """Seconds by which its scheduler is asked less often than usual."""
    return max(0.0, cluster.identity_interval - USUAL_INTERVAL)
