"""Measures whether this process has more work than it can do. Python runs one thread at a time."""

from __future__ import annotations

import asyncio
import time

INTERVAL = 1.0
HIGH_SHARE = 0.85
"""Share of one core."""
LATE = 1.0
"""Seconds by which the event loop is late when the machine is too busy."""


class ProcessLoad:
    """The load of the last second: `run` measures it until it is cancelled."""

    def __init__(self) -> None:
        self.pressure = 0.0
        """The work in units of what one core can do: above 1 it has too much."""
        self.lateness = 0.0
        """Of the event loop, in units of LATE: above 1 the machine has too much, whoever's work it is."""
        self.looked = time.monotonic()
        """When the event loop last came round."""

    @property
    def is_high(self) -> bool:
        return max(self.pressure, self.lateness) > 1.0

    async def run(self) -> None:
        while True:
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(INTERVAL)
            seconds = time.monotonic() - began
            self.pressure = (time.process_time() - used) / seconds / HIGH_SHARE
            self.lateness = (seconds - INTERVAL) / LATE
            self.looked = time.monotonic()
