"""What a target costs its collector: collectors share targets so that each has as much to do.

A cluster without workers is 1. By docs/scaling.md 5,000 workers that are read every 5 s take 0.59 of a core,
and 300 clusters of 4 take 0.36: 0.6 ms for each scrape, and 0.7 ms a second for each cluster.
"""

from __future__ import annotations

OF_CLUSTER = 1.0
"""Also of a target that shows none: it may soon."""
OF_SCRAPE = 0.8
"""of a worker, each second"""


def cost(workers: int, interval: float) -> float:
    """The cost of a target with so many workers, each of which is read every `interval` seconds."""
    return OF_CLUSTER + OF_SCRAPE * workers / interval
