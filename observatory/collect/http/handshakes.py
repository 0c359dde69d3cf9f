"""Handshakes with event streams, which are always completed.

A scheduler that is busy answers a handshake late. If the client has closed the connection by then, the
scheduler keeps the stream's plugin with a closed socket, which fails and logs a traceback with every
transition of a task until another subscriber replaces it. So a handshake that nobody waits for any more goes
on, and its socket is closed after the scheduler's answer.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Hashable, Mapping
from contextlib import suppress

import aiohttp

from observatory.collect.http.time_limits import TimeLimit

MAXIMUM_MESSAGE = 4 * 2**20
HEARTBEAT = 30.0
"""Seconds between pings. Half of it without a pong ends the subscription; busy schedulers are slow."""
CLOSE_TIMEOUT = 3.0
"""seconds"""

Handshake = asyncio.Task[aiohttp.ClientWebSocketResponse]


class Handshakes:
    """At most one handshake for each URL and credentials: who subscribes again joins the one under way."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._under_way: dict[Hashable, Handshake] = {}
        self._waiting: dict[Hashable, object] = {}
        """The caller that gets the socket, by handshake: the last one, if it still waits."""
        self._closing: set[asyncio.Task[None]] = set()

    async def connect(
        self,
        url: str,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | bool = True,
    ) -> aiohttp.ClientWebSocketResponse:
        """Returns the open socket. Raises TimeoutError after `timeout` seconds, and aiohttp's errors."""
        headers = headers or {}
        key = url, frozenset(headers.items()), tls
        handshake = self._under_way.get(key)
        if handshake is None:
            handshake = asyncio.create_task(self._shake_hands(url, headers, tls))
            self._under_way[key] = handshake
            handshake.add_done_callback(lambda done: self._completed(key, done))
        caller = self._waiting[key] = object()
        try:
            async with TimeLimit(timeout):
                return await asyncio.shield(handshake)
        except BaseException:
            if self._waiting.get(key) is caller:
                del self._waiting[key]
            if handshake.done():
                self._close_unused(handshake)
            raise

    async def complete(self, timeout: float) -> None:
        """Waits up to `timeout` seconds until all handshakes have ended and unused sockets are closed."""
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=timeout)
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSE_TIMEOUT)

    async def _shake_hands(
        self, url: str, headers: Mapping[str, str], tls: ssl.SSLContext | bool
    ) -> aiohttp.ClientWebSocketResponse:
        return await self._session.ws_connect(
            url,
            headers=headers,
            ssl=tls,
            max_msg_size=MAXIMUM_MESSAGE,
            heartbeat=HEARTBEAT,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT),
            compress=0,
        )

    def _completed(self, key: Hashable, handshake: Handshake) -> None:
        del self._under_way[key]
        if self._waiting.pop(key, None) is None:
            self._close_unused(handshake)

    def _close_unused(self, handshake: Handshake) -> None:
        """Closes the socket of a handshake that succeeded although nobody takes its socket."""
        if not handshake.cancelled() and handshake.exception() is None:
            closing = asyncio.create_task(close_socket(handshake.result()))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


async def close_socket(socket: aiohttp.ClientWebSocketResponse) -> None:
    """Closes it within CLOSE_TIMEOUT, whatever the peer sends: aiohttp alone reads until the peer answers."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT):
            await socket.close()
