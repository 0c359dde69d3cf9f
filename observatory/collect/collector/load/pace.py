"""How often a target is asked and written: the more targets a collector has, the less often each.

What happens for each target, whether anybody looks at it or not, would otherwise take a whole core of some
hundred of them. With a few targets nothing is rarer than its interval says.
"""

from __future__ import annotations

from observatory.collect.collector.leases.lease import Leases

POLLS_PER_SECOND = 10
"""of all targets whose clusters have no open pages"""
LONGEST_BETWEEN_POLLS = 5.0
"""Seconds, unless the target's own interval is longer."""
BATCHES_PER_SECOND = 10
"""of all targets whose clusters have no open pages"""
LONGEST_BETWEEN_BATCHES = 4.0
"""Seconds. Less than CALM (writing/slowdown.py), from which on scrapes slow down."""
LOOKS_PER_SECOND = 100
"""at what the clusters' workers do, whether there is anything to see or not"""
LONGEST_BETWEEN_LOOKS = 2.0
UPDATES_PER_SECOND = 20
"""Rows of targets that are updated."""
LONGEST_LINGER = 0.5


class Pace:
    """The pace of one collector."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases

    @property
    def targets(self) -> int:
        """The number of those that the collector has."""
        return len(self.leases.held)

    def between_polls(self, interval: float) -> float:
        """Seconds between two polls of a target. `interval`: its setting."""
        return max(interval, min(LONGEST_BETWEEN_POLLS, self.targets / POLLS_PER_SECOND))

    @property
    def between_batches(self) -> float:
        """Least seconds between two batches of a target."""
        return min(LONGEST_BETWEEN_BATCHES, self.targets / BATCHES_PER_SECOND)

    @property
    def between_looks(self) -> float:
        """Least seconds between two looks at a cluster's workers."""
        return min(LONGEST_BETWEEN_LOOKS, self.targets / LOOKS_PER_SECOND)

    @property
    def between_updates(self) -> float:
        """Seconds between two updates of a target's row."""
        return self.targets / UPDATES_PER_SECOND

    @property
    def linger(self) -> float:
        """Seconds that an update waits for those of other targets, which share its statement."""
        return min(LONGEST_LINGER, max(0, self.targets - 1) / UPDATES_PER_SECOND)
