"""How often a series is sampled."""

from __future__ import annotations

from dataclasses import dataclass

TOLD_WHEN_CHANGED = frozenset(
    {
        "observatory_fine_performance_total",
        "observatory_stealing_seconds_total",
        "observatory_stealing_requests_total",
    }
)
"""counters that agents tell only when they change (agent/scheduler/samples.py)"""
TOLD_ALWAYS = "observatory_cluster_threads"
"""what is told in every interval, whoever tells of a cluster"""

SCRAPED = frozenset({"observatory_cluster_tasks_finished_total", "observatory_cluster_task_seconds_total"})
"""what is told of the cluster as a whole by /metrics"""


@dataclass(frozen=True, slots=True)
class Intervals:
    """The usual seconds between two samples: a cluster's, as its target set them."""

    identity: float = 1.0
    """of what is read of the cluster as a whole: observatory_cluster_*"""
    metrics: float = 5.0
    """of what is scraped from /metrics, which stands in for the heartbeats of a busy scheduler"""

    def of(self, metric: str) -> float:
        if metric.startswith("observatory_cluster_") and metric not in SCRAPED:
            return self.identity
        return max(self.identity, self.metrics)
