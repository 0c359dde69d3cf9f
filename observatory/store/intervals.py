"""How often a series is sampled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """The usual seconds between two samples: a cluster's, as its target set them."""

    identity: float = 1.0
    """of what is read of the cluster as a whole: observatory_cluster_*"""
    metrics: float = 5.0
    """of what is scraped from /metrics, which stands in for the heartbeats of a busy scheduler"""

    def of(self, metric: str) -> float:
        if metric.startswith("observatory_cluster_"):
            return self.identity
        return max(self.identity, self.metrics)
