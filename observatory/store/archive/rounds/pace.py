"""How fast the archive is written: recording and pages come first."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep

LONGEST_REST = 5.0
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
        """Leave others as much time as was worked (seconds)."""
        if self.shares:
            sleep(min(worked, LONGEST_REST))
