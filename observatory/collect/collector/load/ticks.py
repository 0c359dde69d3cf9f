"""Ticks: what each target does every second is done for all of them at the same time.

Each time that a process wakes up costs more than what it then does for one target.
"""

from __future__ import annotations

import asyncio
import time

SHORTEST = 0.1
"""of the time between two ticks: timers can be early, and one tick must not be taken for two"""


def until_tick(seconds: float) -> float:
    """Seconds until the next tick, of those that are `seconds` apart; for each number the same for all."""
    left = seconds - time.monotonic() % seconds
    return left if left > SHORTEST * seconds else left + seconds


async def tick(seconds: float) -> None:
    """Waits for the next tick."""
    await asyncio.sleep(until_tick(seconds))
