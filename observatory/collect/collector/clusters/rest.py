"""Whether a cluster is at rest: nothing happens in it, so that it is asked and written less often.

The event stream announces at once what ends a rest: a client, a graph, a task, a worker. So does an open
page, and each poll shows by its counts whether something moved that was not announced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from observatory.collect.collector.load.ticks import tick
from observatory.collect.scheduler.identity import Counts

BEGINS = 30.0
"""Seconds after the last movement."""
LONGER = 2.5
"""By which intervals are longer at rest. Less than three: charts, rates and rules take a sample for missing
after three intervals, and a rest must not look like a gap."""
BETWEEN_BATCHES = 12.0
"""Seconds between two batches at rest. Rules follow the clock when nothing was stored for 20 s."""
WORKING = ("processing", "waiting", "unrunnable")
"""Counts of tasks that are to be done."""


class Rest:
    """The rest of one target's cluster. For one event loop."""

    def __init__(self, wake: Callable[[], None], between_looks: Callable[[], float] = lambda: 0.0) -> None:
        self.wake = wake
        """Called when a rest ends."""
        self.between_looks = between_looks
        """Least seconds between two ticks."""
        self.moved_at = time.monotonic()
        self.counts: Counts | None = None
        """Of the last poll."""
        self._moving = asyncio.Event()

    @property
    def is_now(self) -> bool:
        return time.monotonic() - self.moved_at > BEGINS

    def longer(self, interval: float) -> float:
        """The seconds between two requests that are `interval` apart while something moves."""
        return LONGER * interval if self.is_now else interval

    def moved(self) -> None:
        """Something happened, or somebody looks: all goes at its usual pace at once."""
        was_resting = self.is_now
        self.moved_at = time.monotonic()
        self._moving.set()
        if was_resting:
            self.wake()

    def polled(self, counts: Counts, is_announced: bool) -> None:
        """Adds a poll's counts. `is_announced`: the event stream is received, so work would be announced."""
        if not is_announced or counts != self.counts or any(counts[name] for name in WORKING):
            self.moved()
        self.counts = counts

    async def tick(self, seconds: float, at_rest: float) -> None:
        """Waits for the next tick of those that are `seconds` or more apart; at rest as `sleep` does."""
        await (self.sleep(at_rest) if self.is_now else tick(max(seconds, self.between_looks())))

    async def sleep(self, seconds: float) -> bool:
        """Waits for `seconds`; at rest no longer than until something moves. Returns whether it did."""
        if not self.is_now:
            await asyncio.sleep(seconds)
            return False
        self._moving.clear()
        try:
            async with asyncio.timeout(seconds):
                return await self._moving.wait()
        except TimeoutError:
            return False
