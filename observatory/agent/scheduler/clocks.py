"""Tells clocks of workers that differ from the scheduler's."""

from __future__ import annotations

import json
from time import time
from typing import Any

from observatory.agent.delivery.buffer import Buffer

HEARTBEATS = 5
"""of which that with the shortest way is taken"""
LEAST = 0.05
"""seconds by which a clock differs, or differs from what was recorded of it"""


class Clocks:
    """Makes rows of kind `event`.

    Dask has the difference of each heartbeat's time on the worker and on the scheduler. It also has the way
    of the heartbeat, and how long the scheduler was busy, so the least of several counts.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._event = buffer.appender("event")
        self._least: dict[str, tuple[int, float]] = {}
        """Heartbeats, and the least difference of their times, by worker."""
        self._recorded: dict[str, float] = {}

    def look(self, address: str, worker: Any) -> None:
        """To be called once after each heartbeat of a worker."""
        delay = getattr(worker, "time_delay", 0)
        if not delay:
            return  # the heartbeat had no time
        count, least = self._least.pop(address, (0, delay))
        count, least = count + 1, min(least, delay)
        if count < HEARTBEATS:
            self._least[address] = count, least
        elif abs(least - self._recorded.get(address, 0.0)) >= LEAST:
            self._recorded[address] = least
            side = "behind" if least > 0 else "ahead of"
            text = f"the worker's clock is {abs(least):.3f} s {side} the scheduler's"
            self._event((time(), "clock-differs", address, json.dumps({"message": text, "seconds": least})))

    def forget(self, worker: str) -> None:
        self._least.pop(worker, None)
        self._recorded.pop(worker, None)
