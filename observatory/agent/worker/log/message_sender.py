"""Sends the messages of a write-ahead log to the scheduler, over Dask's own comms."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from tornado.ioloop import PeriodicCallback

from observatory.agent.worker.log.write_ahead_log import WriteAheadLog

INTERVAL = 0.5
TIMEOUT = 20.0
LONGEST_PAUSE = 30.0
URGENT_INTERVAL = 0.1
"""Least seconds between two urgent messages."""
FLUSH_TIMEOUT = 3.0


class MessageSender:
    """Calls the scheduler's handler for one message at a time, and repeats calls without an answer."""

    def __init__(
        self, server: Any, wal: WriteAheadLog, address: Callable[[], str], gather: Callable[[], None]
    ) -> None:
        """`gather` appends new rows to the log; it is called at each tick."""
        self.server = server
        self.wal = wal
        self.address = address
        self.gather = gather
        self.failures = 0
        self._sending: asyncio.Lock = asyncio.Lock()
        self._pause = INTERVAL
        self._not_before = 0.0
        self._urgent_at = 0.0

    def start(self) -> None:
        self._callback = PeriodicCallback(self._tick, INTERVAL * 1000)
        self._callback.start()

    def send_soon(self) -> None:
        """Sends urgent rows at once. May be called from any thread."""
        now = time.monotonic()
        if now - self._urgent_at > URGENT_INTERVAL:
            self._urgent_at = now
            self.wal.seal(self.address())
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                self.server.loop.add_callback(self._tick, False)

    async def flush(self) -> None:
        """Sends all messages, for a bounded time."""
        self._not_before = 0.0
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._tick(), FLUSH_TIMEOUT)

    async def stop(self) -> None:
        self._callback.stop()
        await self.flush()
        self.wal.close()

    async def _tick(self, gather: bool = True) -> None:
        try:
            if gather:
                self.gather()
            self.wal.seal(self.address())
        except Exception:  # never disturb the worker
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
                    raise ValueError("the handler is not an agent's")
            except asyncio.CancelledError:
                raise
            except Exception:  # the scheduler is gone, busy, or has no agent
                self.failures += 1
                self._not_before = time.monotonic() + self._pause
                self._pause = min(LONGEST_PAUSE, self._pause * 2)
                return
            self._pause = INTERVAL
            self.wal.done(message)
