"""When the rows that an agent has buffered become a batch: each batch is a request and a transaction."""

from __future__ import annotations

import time

SLOWEST = 5.0
"""Most seconds between two batches that a slow server or a rest makes longer. What is not in a batch is lost
with the process."""
AT_REST = 5
"""Intervals between two batches while there are only samples."""
LONG_REST = 60.0
"""Seconds without other rows, and without open pages, from which on batches are rarer."""
AT_LONG_REST, SLOWEST_AT_LONG_REST = 12, 12.0
"""Intervals between two batches then, and most seconds. Rules follow the clock after 20 s."""


class Pace:
    """Least seconds between two batches. `interval`: the setting."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self.took = 0.0
        """Seconds from the first attempt to send the last batch until it was answered for good."""
        self.is_watched = False
        """Whether the cluster had open pages then."""
        self.moved_at = time.monotonic()
        """When there last were other rows than samples, or open pages."""

    def between(self, has_news: bool) -> float:
        """The seconds now. `has_news`: there are other rows than samples.

        While the server takes longer for a batch than the interval, the next ones are larger.
        """
        if has_news or self.is_watched:
            self.moved_at = time.monotonic()
            return self._longer(self.took, SLOWEST)
        if not self.is_at_long_rest:
            return self._longer(max(self.took, AT_REST * self.interval), SLOWEST)
        return self._longer(max(self.took, AT_LONG_REST * self.interval), SLOWEST_AT_LONG_REST)

    @property
    def is_at_long_rest(self) -> bool:
        """Whether there were neither other rows nor open pages for LONG_REST seconds."""
        return time.monotonic() - self.moved_at >= LONG_REST

    def _longer(self, wanted: float, most: float) -> float:
        return max(self.interval, min(most, wanted))
