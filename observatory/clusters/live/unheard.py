"""For how long nothing has been heard of a live cluster. It may be gone, or only pause."""

from __future__ import annotations

from observatory.clusters.formatting import format_age
from observatory.clusters.models import Cluster

MISSES = 3
"""Of a Prometheus, intervals without a sample that tell that it is not heard."""
LEAST, MOST = 10.0, 60.0
"""seconds without a report of an agent that do; after a minute it is said to be silent"""
LEAST_WITHOUT_ANSWER = 3.0
"""seconds since the scheduler's last answer, where a collector's request failed after it"""


def unheard_seconds(cluster: Cluster, at: float) -> float:
    """Seconds since its agent or its scheduler was last heard; 0 while that is not unusual.

    `at`: now. A cluster with an agent is heard by it; another one by the collector of its target.
    """
    if cluster.ended is not None:
        return 0.0
    if cluster.agent_heard is not None:
        seconds, least = at - cluster.agent_heard.timestamp(), MISSES * cluster.identity_interval
        return seconds if seconds > min(MOST, max(LEAST, least)) else 0.0
    target = cluster.target
    if target is None or not target.enabled:
        return 0.0
    has_collector = target.lease_expires is not None and target.lease_expires.timestamp() >= at
    if has_collector and not target.last_error:
        return 0.0
    seconds = at + target.clock_offset - cluster.last_seen.timestamp()
    return seconds if seconds > LEAST_WITHOUT_ANSWER else 0.0


def unheard_text(seconds: float) -> str:
    """“last heard 40 s ago”; "" for 0."""
    return f"last heard {format_age(seconds)}" if seconds else ""
