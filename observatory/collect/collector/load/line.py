"""The line in which requests wait that a process can't make at once: first come, first served by project."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Mapping
from time import monotonic

STEP = 0.1
"""Seconds between two looks at who is next."""
LONGEST_CREDITED = 5.0
"""Seconds that one look can be late without a loss: what a standstill missed isn't made up for."""


class Line:
    """Lets requests pass at the rate of their project, and at once where there is none."""

    def __init__(self) -> None:
        self.rates: Mapping[int, float] = {}
        """Requests a second, by project."""
        self._waiting: defaultdict[int, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._due: defaultdict[int, float] = defaultdict(float)
        """Requests that may pass by now."""

    async def turn(self, project: int) -> None:
        """Returns when a request of the project may be made."""
        if project not in self.rates and not self._waiting[project]:
            return
        its = asyncio.get_running_loop().create_future()
        self._waiting[project].append(its)
        await its

    async def run(self, seconds: float) -> None:
        """Lets pass who is next, for some seconds: as many as are due, however late the event loop is."""
        began = monotonic()
        if not any(self._waiting.values()):
            await asyncio.sleep(seconds)
        while (looked := monotonic()) - began < seconds:
            await asyncio.sleep(STEP)
            self.let_pass(min(monotonic() - looked, LONGEST_CREDITED))

    def let_pass(self, seconds: float) -> int:
        """Lets those pass who are due after further seconds; returns their number."""
        passed = 0
        for project, line in self._waiting.items():
            rate = self.rates.get(project)
            # what wasn't used is lost: a pause makes no crowd
            due = len(line) if rate is None else min(self._due[project], 1.0) + rate * seconds
            while line and due >= 1.0:
                its = line.popleft()
                if not its.done():  # it was cancelled
                    its.set_result(None)
                    due -= 1.0
                    passed += 1
            self._due[project] = due
        return passed
