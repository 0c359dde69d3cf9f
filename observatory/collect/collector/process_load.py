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
        self.is_high = False

    async def run(self) -> None:
        while True:
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(INTERVAL)
            seconds = time.monotonic() - began
            share = (time.process_time() - used) / seconds
            self.is_high = share > HIGH_SHARE or seconds - INTERVAL > LATE
