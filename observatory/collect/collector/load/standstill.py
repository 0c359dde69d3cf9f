"""Detects that this process stood still, or that its clock was set: what it recorded then has a gap.

A stopped process, a blocked event loop and a paused virtual machine let both clocks go on. While a machine is
asleep the monotonic clock stands still, and time jumps at waking.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

LIMIT = 5.0
"""Seconds without a look, or by which time jumped, that count as a gap."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """Times are seconds on this machine's clock, which may have been set between them."""

    before: float
    """The last look before it."""
    after: float
    """The first look after it."""
    stopped: float
    """Seconds of the monotonic clock between them."""

    @property
    def jump(self) -> float:
        """Seconds by which the clock was set forward, or the machine was asleep; less than 0: set back."""
        return self.after - self.before - self.stopped

    @property
    def reason(self) -> str:
        if self.jump > LIMIT:
            return f"the collector's machine slept, or its clock was set forward, by {self.jump:.0f} s"
        if self.jump < -LIMIT:
            return f"the clock of the collector's machine was set back by {-self.jump:.0f} s"
        return f"the collector stood still for {self.stopped:.0f} s"


class StandstillDetector:
    """Compares the clocks at each look."""

    def __init__(self) -> None:
        self.time, self.monotonic = time.time(), time.monotonic()

    def look(self) -> Standstill | None:
        """What happened since the last look; None if nothing did."""
        now, monotonic = time.time(), time.monotonic()
        before, stopped = self.time, monotonic - self.monotonic
        self.time, self.monotonic = now, monotonic
        if stopped <= LIMIT and abs(now - before - stopped) <= LIMIT:
            return None
        return Standstill(before, now, stopped)
