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
        """The work in units of what the process can do: above 1 it has too much."""

    @property
    def is_high(self) -> bool:
        return self.pressure > 1.0

    async def run(self) -> None:
        while True:
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(INTERVAL)
            seconds = time.monotonic() - began
            share = (time.process_time() - used) / seconds
            self.pressure = max(share / HIGH_SHARE, (seconds - INTERVAL) / LATE)
