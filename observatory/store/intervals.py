"""How often a series is sampled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """The usual seconds between two samples: a cluster's, as its target set them."""

    identity: float = 1.0
    """of what is read from the scheduler's identity and counts, whose metrics have our own prefix"""
    metrics: float = 5.0
    """of what is scraped from /metrics"""

    def of(self, metric: str) -> float:
        return self.identity if metric.startswith("observatory_") else self.metrics
