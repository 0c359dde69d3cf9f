"""Detects that another subscriber took the event stream: tasks finish, but no message announces them.

The evidence is the scheduler's counter of computed seconds, which grows in the same transition that the
stream announces. The next page must confirm it: schedulers in one process share Dask's collectors, so that a
page of one can have the counters of another. Without `prometheus_client` on the scheduler only the number of
results in memory is available, which `Client.scatter` increases too: then several increases in a row are
needed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

GRACE = 1.0
"""Seconds that a message may arrive later than the counter of the same task."""
RISES = 3
"""Increases of the number of results that prove a theft."""
RISING = 5.0
"""Least seconds between the first and the last of them."""
SOON_AGAIN = 600.0
"""Seconds after a return within which another displacement makes this observer yield."""
YIELD = 3600.0
"""Seconds for which it yields."""


class StolenStreamDetector:
    """Compares the scheduler's counters with the messages of its stream. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.stream_opened(0.0)

    def stream_opened(self, now: float) -> None:
        """A subscription started; forgets earlier counts."""
        self.since = now
        self.message_at = 0.0
        self.seconds: Mapping[str, float] | None = None
        self.requested_at = 0.0
        self.before_rise: Mapping[str, float] | None = None
        """The counters before those that have risen, until the next ones confirm it."""
        self.evidence: float | None = None
        self.results: int | None = None
        self.rises: list[float] = []

    def message_received(self, now: float) -> None:
        """The stream announced a finished task."""
        self.message_at = now
        self.before_rise = None
        self.evidence = None
        self.rises.clear()

    def add_compute_seconds(self, seconds: Mapping[str, float], requested: float, answered: float) -> None:
        """Adds the counter of computed seconds by prefix, and when it was requested and answered."""
        before, requested_before = self.seconds, self.requested_at
        self.seconds, self.requested_at = dict(seconds), requested
        if before is None or self.message_at > requested_before or self.since > requested_before:
            return
        earlier, self.before_rise = self.before_rise or before, None
        if not any(value > earlier.get(prefix, 0.0) for prefix, value in seconds.items()):
            return
        if earlier is before:
            self.before_rise = before
        else:
            self.evidence = self.evidence or answered

    def add_results(self, results: int, now: float) -> None:
        """Adds the number of results in memory, from counts.json."""
        if self.results is not None and results > self.results:
            self.rises.append(now)
        self.results = results

    @property
    def received_until(self) -> float:
        """When the stream was last known to be ours."""
        return max(self.since, self.message_at)

    def is_stolen(self, now: float) -> bool:
        """Whether another subscriber has the stream."""
        if self.seconds is not None:
            return self.evidence is not None and now > self.evidence + GRACE
        return len(self.rises) >= RISES and self.rises[-1] - self.rises[0] >= RISING


class Displacements:
    """How often others took the stream: whether to take it back, or to leave it to them.

    Of two observers that each take it back, one is displaced twice first. It yields, and the other one,
    displaced once, keeps the stream.
    """

    def __init__(self) -> None:
        self.resumed_at = -math.inf

    def must_yield(self, now: float) -> bool:
        """Whether a displacement detected `now` is one too many: it follows soon after the last return."""
        return now - self.resumed_at <= SOON_AGAIN

    def resumed(self, now: float) -> None:
        """The stream is subscribed again, also to try after a yield."""
        self.resumed_at = now


def yield_duration() -> float:
    """Seconds for which the stream is left to the other subscriber; no two observers return together."""
    return YIELD * random.uniform(1.0, 1.1)
