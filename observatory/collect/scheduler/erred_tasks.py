"""The number of tasks that erred."""

from __future__ import annotations


class ErredTaskCount:
    """How many tasks erred, from two sources that each miss some.

    counts.json tells how many are in that state: it falls when they are forgotten, and misses those that came
    and went between two reads. The scheduler's /metrics counts transitions into it, but is read less often.
    """

    def __init__(self, fresh: bool) -> None:
        self.held = 0 if fresh else None
        self.rises = 0
        self.base: float | None = 0.0 if fresh else None
        self.transitions = 0.0
        self.reported = 0

    def counted(self, held: int) -> int:
        """How many more erred than was known, by the number of tasks that are erred now."""
        if self.held is not None:
            self.rises += max(0, held - self.held)
        self.held = held
        return self._report()

    def scraped(self, transitions: float) -> int:
        """How many more erred than was known, by the number of transitions so far."""
        if self.base is None or transitions < self.base + self.transitions:
            self.base = transitions - self.reported
        self.transitions = transitions - self.base
        return self._report()

    def _report(self) -> int:
        news = max(self.rises, int(self.transitions)) - self.reported
        self.reported += max(0, news)
        return max(0, news)
