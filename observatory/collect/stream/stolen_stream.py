"""Notices that an event stream has been taken away: tasks finish, and no message says so.

What proves it is the scheduler's own counter of seconds that tasks computed, which it raises in the very
transition that the stream announces. Without `prometheus_client` on the scheduler there is only the number of
results in memory, which `Client.scatter` raises too: then several rises have to come together.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

GRACE = 1.0
"""seconds that a message may take longer than the counter that tells of the same task"""
RISES = 3
RISING = 5.0
"""seconds that the rises of the number of results have to span"""
FIRST_WAIT = 2.0
LONGEST_WAIT = 3600.0
HELD = 600.0
"""seconds after which a stream that was taken back counts as ours again"""


class StolenStreamDetector:
    """Compares what the scheduler counts with what its stream says. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.opened(0.0)

    def opened(self, now: float) -> None:
        """A subscription began: what was counted before doesn't matter."""
        self.since = now
        self.heard_at = 0.0
        self.seconds: Mapping[str, float] | None = None
        self.asked_at = 0.0
        self.evidence: float | None = None
        self.results: int | None = None
        self.rises: list[float] = []

    def heard(self, now: float) -> None:
        """The stream announced a task."""
        self.heard_at = now
        self.evidence = None
        self.rises.clear()

    def counted_seconds(self, seconds: Mapping[str, float], asked: float, answered: float) -> None:
        """The scheduler's counter by prefix, and when it was asked for and answered."""
        before, asked_before = self.seconds, self.asked_at
        self.seconds, self.asked_at = dict(seconds), asked
        if before is None or self.heard_at > asked_before or self.since > asked_before:
            return
        if any(value > before.get(prefix, 0.0) for prefix, value in seconds.items()):
            self.evidence = self.evidence or answered

    def counted_results(self, results: int, now: float) -> None:
        """The number of results in memory, as counts.json tells it."""
        if self.results is not None and results > self.results:
            self.rises.append(now)
        self.results = results

    @property
    def silent_since(self) -> float:
        """Up to when the stream was certainly ours."""
        return max(self.since, self.heard_at)

    def is_stolen(self, now: float) -> bool:
        if self.seconds is not None:
            return self.evidence is not None and now > self.evidence + GRACE
        return len(self.rises) >= RISES and self.rises[-1] - self.rises[0] >= RISING


class ResubscribeBackoff:
    """How long to wait before a stolen stream is taken back.

    Somebody who holds on gets it: each theft soon after the last one makes the wait four times as long, up to
    an hour, so that two observers that don't know of each other end up taking turns rather than fighting.
    """

    def __init__(self) -> None:
        self.thefts = 0
        self.taken_back = -HELD

    def wait(self, now: float) -> float:
        """Seconds to wait after a theft that is noticed `now`."""
        self.thefts = 1 if now - self.taken_back > HELD else self.thefts + 1
        longest: float = min(LONGEST_WAIT, FIRST_WAIT * 4 ** (self.thefts - 1))
        return longest * random.uniform(0.75, 1.25)

    def resumed(self, now: float) -> None:
        self.taken_back = now
