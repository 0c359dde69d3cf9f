"""Time limits of requests that don't count the time in which this process was late itself."""

from __future__ import annotations

import asyncio
from types import TracebackType

LATE = 0.1
"""Seconds by which the event loop may be late without being busy."""
LONGEST = 60.0
"""Seconds after which a request ends, however late the event loop is."""


class TimeLimit:
    """A time limit for the block of an `async with`: it raises TimeoutError.

    An event loop that has too much to do runs its timers before it reads from its sockets. With
    `asyncio.timeout`, what was answered in time would be thrown away, and be asked for again.
    """

    __slots__ = ("_ends", "_limit", "_loop", "_seconds", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._limit = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self._loop = asyncio.get_running_loop()
        began = self._loop.time()
        self._ends = began + max(self._seconds, LONGEST)
        self._look_at(began + self._seconds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._limit.__aexit__(kind, error, traceback)

    def _look_at(self, due: float) -> None:
        self._timer = self._loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        now = self._loop.time()
        late = now - due
        if late > LATE and now < self._ends:
            self._look_at(now + min(late, self._seconds))
        else:
            self._limit.reschedule(now)
