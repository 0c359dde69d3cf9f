"""When the rows that an agent has buffered become a batch: each batch is a request and a transaction."""

from __future__ import annotations

SLOWEST = 5.0
"""Most seconds between two batches that a slow server or a rest makes longer. What is not in a batch is lost
with the process."""
AT_REST = 5
"""Intervals between two batches while there are only samples."""


class Pace:
    """Least seconds between two batches. `interval`: the setting."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self.took = 0.0
        """Seconds from the first attempt to send the last batch until it was answered for good."""
        self.is_watched = False
        """Whether the cluster had open pages then."""

    def between(self, has_news: bool) -> float:
        """The seconds now. `has_news`: there are other rows than samples.

        While the server takes longer for a batch than the interval, the next ones are larger.
        """
        wanted = self.took
        if not has_news and not self.is_watched:
            wanted = max(wanted, AT_REST * self.interval)
        return max(self.interval, min(SLOWEST, wanted))
