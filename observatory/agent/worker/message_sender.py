"""Takes a wal's messages to the scheduler, over Dask's own comms."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from tornado.ioloop import PeriodicCallback

from observatory.agent.worker.write_ahead_log import WriteAheadLog

INTERVAL = 0.5
TIMEOUT = 20.0
LONGEST = 30.0
URGENT = 0.1
"""seconds between two messages that are sent at once"""
CLOSING = 3.0


class MessageSender:
    """One call at a time; one that isn't answered is made again."""

    def __init__(
        self, server: Any, wal: WriteAheadLog, address: Callable[[], str], gather: Callable[[], None]
    ) -> None:
        """`gather` puts into the wal what there is to tell at each tick."""
        self.server = server
        self.wal = wal
        self.address = address
        self.gather = gather
        self.failures = 0
        self._sending: asyncio.Lock = asyncio.Lock()
        self._pause = INTERVAL
        self._not_before = 0.0
        self._urgent = 0.0

    def start(self) -> None:
        self._callback = PeriodicCallback(self._tick, INTERVAL * 1000)
        self._callback.start()

    def hurry(self) -> None:
        """Something urgent is in the wal; of any thread."""
        now = time.monotonic()
        if now - self._urgent > URGENT:
            self._urgent = now
            self.wal.seal(self.address())
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.server.loop.add_callback(self._tick, False)

    async def flush(self) -> None:
        """Sends all that there is, for a bounded time."""
        self._not_before = 0.0
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._tick(), CLOSING)

    async def stop(self) -> None:
        self._callback.stop()
        await self.flush()
        self.wal.close()

    async def _tick(self, gathers: bool = True) -> None:
        try:
            if gathers:
                self.gather()
            self.wal.seal(self.address())
        except Exception:  # the worker goes on
            self.failures += 1
        if time.monotonic() < self._not_before:
            return
        async with self._sending:
            await self._send()

    async def _send(self) -> None:
        while (message := self.wal.first()) is not None:
            try:
                call = self.server.scheduler.observatory_records(**vars(message))
                answer = await asyncio.wait_for(call, TIMEOUT)
                if answer.get("number") != message.number:
                    raise ValueError("not an answer of an agent")
            except asyncio.CancelledError:
                raise
            except Exception:  # the scheduler is away, busy, or has no agent any more
                self.failures += 1
                self._not_before = time.monotonic() + self._pause
                self._pause = min(LONGEST, self._pause * 2)
                return
            self._pause = INTERVAL
            self.wal.done(message)
