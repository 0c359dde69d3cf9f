"""The intervals between the samples of series."""

from __future__ import annotations

from dataclasses import dataclass

from observatory.wire.metrics import METRICS

SENT_ON_CHANGE = frozenset(metric.name for metric in METRICS.values() if metric.is_sent_on_change)
"""counters that agents send only when they change (agent/scheduler/samples.py)"""
ALWAYS_SENT = "observatory_cluster_threads"
"""a metric that agents and collectors send in every interval"""
SCRAPED = frozenset(metric.name for metric in METRICS.values() if metric.is_scraped)
"""metrics of the cluster that are read from /metrics"""


@dataclass(frozen=True, slots=True)
class SampleIntervals:
    """Seconds between two samples, from the settings of the cluster's target."""

    identity: float = 1.0
    """of metrics of the cluster: observatory_cluster_*"""
    metrics: float = 5.0
    """of metrics from /metrics, which replace the heartbeats of a busy scheduler"""

    def of(self, metric: str) -> float:
        if metric.startswith("observatory_cluster_") and metric not in SCRAPED:
            return self.identity
        return max(self.identity, self.metrics)
