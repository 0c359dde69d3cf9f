"""How fast the archive is written: recording and pages come first."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep

OF_OTHERS = 4
"""times as long as was worked others have the processor"""
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
        """Leave others OF_OTHERS times as long as was worked (seconds)."""
        if self.shares:
            sleep(min(OF_OTHERS * worked, LONGEST_REST))
