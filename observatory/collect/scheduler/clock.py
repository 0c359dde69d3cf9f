"""The offset between the scheduler's clock and ours, from what a stock scheduler tells.

Each answer bounds the offset (scheduler minus ours) from both sides. The scheduler wrote its Date header, in
whole seconds, at some moment between our sending the request and our receiving the answer: its clock then was
at least that second and less than the next one. A heartbeat's `last_seen` is a moment of the scheduler's
clock that had passed when we received it. No bound is ever wrong, so all of them hold together, and answers
that fall at different parts of a second narrow what is left to about the round trip.

A proxy that writes its own Date spoils this: then the bounds contradict each other, and the newest win.
"""

from __future__ import annotations

import math
import time

GENERATION = 300.0
"""seconds after which bounds are renewed, as clocks drift and are set"""


class OffsetInterval:
    """An interval that holds the offset."""

    def __init__(self) -> None:
        self.low = -math.inf
        self.high = math.inf

    def narrow(self, low: float, high: float) -> None:
        if max(self.low, low) > min(self.high, high):
            self.low, self.high = low, high
        else:
            self.low, self.high = max(self.low, low), min(self.high, high)


class SchedulerClock:
    """Estimates the scheduler's clock. Times are seconds since the epoch."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset
        """seconds that the scheduler's clock is ahead of ours"""
        self.current = OffsetInterval()
        self.coming = OffsetInterval()
        self.renewed = time.monotonic()

    def now(self) -> float:
        return time.time() + self.offset

    def observe(self, sent: float, received: float, date: float | None) -> None:
        """Takes an answer's times on our clock and its Date header into account."""
        if date is not None:
            self.bound(date - received, date + 1.0 - sent)

    def passed(self, moment: float, received: float) -> None:
        """Takes into account that `moment` of the scheduler's clock had passed when we `received` it."""
        self.bound(moment - received, math.inf)

    def bound(self, low: float, high: float) -> None:
        if time.monotonic() - self.renewed > GENERATION:
            self.current, self.coming, self.renewed = self.coming, OffsetInterval(), time.monotonic()
        self.current.narrow(low, high)
        self.coming.narrow(low, high)
        low, high = self.current.low, self.current.high
        if math.isinf(low) or math.isinf(high):
            return
        # clocks that are kept by NTP agree: no difference is claimed that wasn't seen
        self.offset = 0.0 if low <= 0.0 <= high else (low + high) / 2
