"""How fast the archive is written: recording and pages come first."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep

REST_PER_WORK = 4
"""seconds of rest after each second of work"""
LONGEST_REST = 10.0
"""seconds"""


@dataclass(slots=True)
class Pace:
    """Of one round of archiving."""

    until: float = float("inf")
    """by time.monotonic(), after which nothing more is begun"""
    shares: bool = False
    """whether others need the processor and the database, too"""

    @property
    def is_over(self) -> bool:
        return monotonic() >= self.until

    def rest(self, worked: float) -> None:
        """Rest for REST_PER_WORK times as long as was worked (seconds), so that others have the processor."""
        if self.shares:
            sleep(min(REST_PER_WORK * worked, LONGEST_REST))
