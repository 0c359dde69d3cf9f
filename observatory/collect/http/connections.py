"""GET requests over plain HTTP/1.1, of which a collector sends hundreds a second.

llhttp (`httptools`) parses the answers. For an answer of some kB aiohttp takes several times the processor
time; what is rarer (TLS, WebSockets, names with several addresses) is left to it.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import httptools
from yarl import URL

from observatory.collect.http.time_limits import TimeLimit

MOST_REMEMBERED = 20_000
"""URLs whose requests are remembered."""
HEAD_LIMIT = 2**16
"""Bytes of the head of an answer."""
CHECK = 30.0
"""Seconds between two looks for connections that were idle for too long."""


class ConnectionEnded(Exception):
    """The peer closed the connection before the answer began."""


class InvalidAnswer(Exception):
    """The answer is not HTTP, or not whole."""


class LongAnswer(Exception):
    """The body is longer than the limit."""


@dataclass(slots=True)
class Response:
    """An answer."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    """By name in lower case; of several with one name the last."""
    received: float = 0.0
    """When its head arrived, on this machine's clock."""
    parts: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


@dataclass(frozen=True, slots=True)
class Request:
    """A GET without what its sender adds."""

    host: str
    port: int
    head: bytes


@lru_cache(maxsize=MOST_REMEMBERED)
def request_to(url: str, agent: str) -> Request:
    """The request for a URL. Raises ValueError."""
    parsed = URL(url)
    if not parsed.raw_host or not parsed.port:
        raise ValueError("a URL without a host")
    lines = (
        f"GET {parsed.raw_path_qs} HTTP/1.1",
        f"Host: {parsed.host_port_subcomponent}",
        f"User-Agent: {agent}",
        "Accept: */*",
        "Accept-Encoding: identity",
    )
    return Request(parsed.raw_host, parsed.port, "".join(f"{line}\r\n" for line in lines).encode())


def header_lines(headers: Mapping[str, str]) -> bytes:
    """The lines of headers in a request. Raises ValueError for one that would be several lines."""
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any(sign in line for line in lines for sign in "\r\n\0"):
        raise ValueError("a header has a line break")
    return "".join(f"{line}\r\n" for line in lines).encode()


class Connection(asyncio.Protocol):
    """A connection, with one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.is_open = False
        self.is_reusable = False
        """Whether another request can follow the last one."""
        self.idle_since = 0.0
        """Monotonic."""
        self._answer: asyncio.Future[None] | None = None

    async def get(self, request: bytes, limit: int, is_cut: bool) -> Response:
        """Sends a request. Of a body over `limit` bytes the beginning is returned if it `is_cut`.

        Raises ConnectionEnded, InvalidAnswer and LongAnswer. Whoever doesn't wait for the end has to close
        the connection.
        """
        self._response, self._limit, self._is_cut = Response(), limit, is_cut
        self._length = self._read = 0
        self._has_head = self.is_reusable = False
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        try:
            if not self.is_open:
                raise ConnectionEnded
            self.transport.write(request)
            await self._answer
        finally:
            self._answer = None
        return self._response

    def close(self) -> None:
        """Closes it at once: nobody waits for what the peer still sends."""
        if self.is_open:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's has no base class
        self.is_open = True

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = self.is_reusable = False
        if not self._ends_with_connection() or error is not None:
            self._fail(InvalidAnswer("incomplete") if self._is_begun() else ConnectionEnded())
        else:
            self._complete()

    def _is_begun(self) -> bool:
        return self._answer is not None and self._read > 0

    def _ends_with_connection(self) -> bool:
        """Whether the end of the connection is that of the answer, whose head has arrived."""
        if self._answer is None or not self._has_head:
            return False
        return self._response.headers.keys().isdisjoint({"content-length", "transfer-encoding"})

    def data_received(self, data: bytes) -> None:
        if self._is_answered():
            self.close()  # nothing was requested
            return
        self._read += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(InvalidAnswer(type(error).__name__))
            return
        if not self._has_head and self._read > HEAD_LIMIT:
            self._fail(InvalidAnswer("its head is too long"))
        # chunks have sizes, extensions and trailers, too
        elif self._read > 2 * self._limit + HEAD_LIMIT:
            self._fail(LongAnswer())

    def _is_answered(self) -> bool:
        return self._answer is None or self._answer.done()

    def on_message_begin(self) -> None:
        if self._is_answered():
            self.is_reusable = False
            self.close()  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_answered():
            return
        self._response.headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape")

    def on_headers_complete(self) -> None:
        if self._is_answered():
            return
        self._response.status = self._parser.get_status_code()
        self._response.received = time.time()
        self._has_head = self._response.status >= 200

    def on_body(self, body: bytes) -> None:
        if self._is_answered():
            return
        room = self._limit - self._length
        self._length += len(body)
        if len(body) <= room:
            self._response.parts.append(body)
        elif self._is_cut:
            self._response.parts.append(body[: max(0, room)])
            self._complete()
        else:
            self._fail(LongAnswer())

    def on_message_complete(self) -> None:
        if self._is_answered():
            return
        if self._has_head:
            self.is_reusable = self.is_open and self._parser.should_keep_alive()
            self._complete()
        else:  # "100 Continue" and the like: the answer follows
            self._response = Response()

    def _complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class Connections:
    """Connections to any number of peers. For one event loop."""

    def __init__(self, keep_alive: float, connect_timeout: float) -> None:
        """`keep_alive`: seconds that a connection may be idle."""
        self._keep_alive, self._connect_timeout = keep_alive, connect_timeout
        self._idle: defaultdict[tuple[str, int], list[Connection]] = defaultdict(list)
        """By address and port."""
        self._check: asyncio.TimerHandle | None = None
        """The next look for old ones, if any are idle."""

    async def get(
        self, address: str, request: Request, headers: bytes, limit: int, is_cut: bool, is_kept: bool
    ) -> Response:
        """GETs from an IP address. `is_kept`: over a connection that others used and will use.

        Raises OSError, TimeoutError, and what Connection.get raises.
        """
        key = address, request.port
        whole = request.head + headers + (b"\r\n" if is_kept else b"Connection: close\r\n\r\n")
        while True:
            known = self._take(key) if is_kept else None
            connection = known or await self._open(*key)
            try:
                return await connection.get(whole, limit, is_cut)
            except ConnectionEnded:
                if known is None:
                    raise
                # the peer closed it while it was idle
            finally:
                if is_kept and connection.is_reusable:
                    self._keep(key, connection)
                else:
                    connection.close()

    def close(self) -> None:
        """Closes all idle connections."""
        if self._check is not None:
            self._check.cancel()
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _open(self, address: str, port: int) -> Connection:
        async with TimeLimit(self._connect_timeout):
            _, connection = await asyncio.get_running_loop().create_connection(Connection, address, port)
        return connection

    def _take(self, key: tuple[str, int]) -> Connection | None:
        idle = self._idle.get(key)
        while idle:
            connection = idle.pop()
            if connection.is_open and time.monotonic() - connection.idle_since < self._keep_alive:
                return connection
            connection.close()
        return None

    def _keep(self, key: tuple[str, int], connection: Connection) -> None:
        connection.idle_since = time.monotonic()
        self._idle[key].append(connection)
        self._check_later()

    def _check_later(self) -> None:
        if self._check is None and self._idle:
            self._check = asyncio.get_running_loop().call_later(min(CHECK, self._keep_alive), self._close_old)

    def _close_old(self) -> None:
        """Closes those of peers that are asked no more, such as workers of a cluster that is not watched."""
        self._check = None
        for key, connections in list(self._idle.items()):
            kept = []
            for connection in connections:
                if connection.is_open and time.monotonic() - connection.idle_since < self._keep_alive:
                    kept.append(connection)
                else:
                    connection.close()
            if kept:
                self._idle[key] = kept
            else:
                del self._idle[key]
        self._check_later()
