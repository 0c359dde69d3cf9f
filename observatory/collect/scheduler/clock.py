"""Estimates the offset between the scheduler's clock and ours from the answers of a stock scheduler.

Each answer bounds the offset (scheduler minus ours) on both sides. The scheduler wrote its Date header, in
whole seconds, between our request and its answer: its clock was then at least that second and less than the
next. A heartbeat's `last_seen` is a time on the scheduler's clock that had passed when we received it. All
bounds hold together. Answers at different fractions of a second narrow the interval to about the round trip.

A proxy that writes its own Date header breaks this: when bounds contradict each other, the newest replace the
older ones.
"""

from __future__ import annotations

import math
import time

GENERATION = 300.0
"""Seconds after which bounds expire, because clocks drift and are set."""


class OffsetInterval:
    """The interval that contains the offset, in seconds."""

    def __init__(self) -> None:
        self.low = -math.inf
        self.high = math.inf

    def narrow(self, low: float, high: float) -> None:
        """Intersects with [low, high]; replaced by it when they are disjoint."""
        if max(self.low, low) > min(self.high, high):
            self.low, self.high = low, high
        else:
            self.low, self.high = max(self.low, low), min(self.high, high)


class SchedulerClock:
    """The scheduler's clock. Times are seconds since the epoch."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset
        """Seconds that the scheduler's clock is ahead of ours."""
        self.current = OffsetInterval()
        self.next = OffsetInterval()
        self.renewed = time.monotonic()

    def now(self) -> float:
        """The current time on the scheduler's clock."""
        return time.time() + self.offset

    def observe(self, sent: float, received: float, date: float | None) -> None:
        """Adds an answer: when it was requested and received on our clock, and its Date header."""
        if date is not None:
            self.bound(date - received, date + 1.0 - sent)

    def passed(self, time: float, received: float) -> None:
        """Adds a time on the scheduler's clock that had passed when it was `received` on ours."""
        self.bound(time - received, math.inf)

    def bound(self, low: float, high: float) -> None:
        """Adds bounds of the offset."""
        if time.monotonic() - self.renewed > GENERATION:
            self.current, self.next, self.renewed = self.next, OffsetInterval(), time.monotonic()
        self.current.narrow(low, high)
        self.next.narrow(low, high)
        low, high = self.current.low, self.current.high
        if math.isinf(low) or math.isinf(high):
            return
        # clocks synchronised by NTP agree: report no offset unless it is proven
        self.offset = 0.0 if low <= 0.0 <= high else (low + high) / 2
