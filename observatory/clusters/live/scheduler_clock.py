"""The clock of a cluster's scheduler, as far as it is known."""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.store.queries.extents import Extent


def scheduler_time(cluster: Cluster, extent: Extent, now: float) -> float:
    """The current time on the scheduler's clock; `now` is on ours.

    The clock of a cluster with an agent is derived from the agent's last report. So a cluster isn't
    considered silent while its agent sends the backlog of an outage.
    """
    if cluster.target is not None:
        return now + cluster.target.clock_offset
    if cluster.agent_heard is not None and extent.committed:
        return extent.committed + now - cluster.agent_heard.timestamp()
    return now
