"""The HTTP client for observed clusters: no redirects, limits on size and time, only http(s) and ws(s)."""

from __future__ import annotations

import asyncio
import copy
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from observatory.clusters.addresses.ip_addresses import IPAddress, is_metadata, is_reserved, parse_ip
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.http.connections import (
    ConnectionEnded,
    Connections,
    InvalidAnswer,
    LongAnswer,
    Request,
    header_lines,
    request_to,
)
from observatory.collect.http.handshakes import Handshakes
from observatory.collect.http.json_body import read_json
from observatory.collect.http.time_limits import TimeLimit

IDENTITY_LIMIT = 64 * 2**20
METRICS_LIMIT = 32 * 2**20
CONNECT_TIMEOUT = 4.0
REQUEST_TIMEOUT = 5.0
KEEP_ALIVE = 150.0
"""Seconds between two requests over the same connection: those that are made less often, a minute apart, must
not open all of them again."""
AGENT = "dask-observatory"
NAMES_LIFETIME = 30.0
"""Seconds for which the addresses of a host name are remembered."""
MOST_NAMES = 10_000
OF_METADATA = "it is the address of a cloud's metadata service"
UNKNOWN_HOST = "its host name cannot be resolved"
CLOSED = "it closed the connection without an answer"


class Failure(Enum):
    """Kind of a failed request: a scheduler that is gone differs from one that hangs."""

    REFUSED = "refused"
    """Nothing listens at the address: refused, reset, unknown name, no route."""
    TIMEOUT = "timeout"
    """The connection was accepted, but no answer arrived."""
    ANSWER = "answer"
    """The answer is not what was requested."""


class FetchError(Exception):
    """A request without a usable answer; the message is shown to users."""

    def __init__(self, failure: Failure, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.failure = failure
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request. Times are seconds on this machine's clock."""

    body: bytes
    content_type: str
    sent: float
    """When the request was sent."""
    received: float
    """When the answer's first bytes arrived."""
    date: float | None
    """The Date header: whole seconds on the server's clock."""


class GuardedResolver(ThreadedResolver):
    """Resolves host names. Loopback and link-local addresses are allowed for the hosts of targets only."""

    def __init__(self) -> None:
        super().__init__()
        self.trusted: set[str] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        found = [entry for entry in found if not is_metadata(parse_ip(entry["host"]))]
        if host in self.trusted and found:
            return found
        allowed = [entry for entry in found if not is_reserved(parse_ip(entry["host"]))]
        if not allowed:
            raise OSError(f"{host} is a loopback or link-local address")
        return allowed


class HttpClient:
    """The HTTP client of a collector. Use: `async with HttpClient() as client`."""

    def __init__(
        self, resolver: GuardedResolver | None = None, guards: Sequence[aiohttp.TraceConfig] = ()
    ) -> None:
        """`guards` stop requests, as refuse_metadata does."""
        self.resolver = resolver or GuardedResolver()
        self.guards = guards
        self.headers: Mapping[str, str] = {}
        self.tls: ssl.SSLContext | bool = True
        self.keeps_connections = True
        self.connections = Connections(KEEP_ALIVE, CONNECT_TIMEOUT)
        """of requests without TLS"""
        self.addresses: dict[str, tuple[list[str], float]] = {}
        """of host names, and until when they are valid (monotonic)"""

    async def __aenter__(self) -> HttpClient:
        self.session = self._session(keepalive_timeout=KEEP_ALIVE)
        self.unpooled = self._session(force_close=True)
        """Opens a connection for each request."""
        self.handshakes = Handshakes(self.unpooled)
        return self

    def _session(self, **connections: Any) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=self.resolver, ttl_dns_cache=30, **connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,
            # of handshakes, which have to be completed; requests have their own
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            trace_configs=[refuse_redirects(), refuse_metadata(), *self.guards],
        )

    async def __aexit__(self, *error: object) -> None:
        await self.handshakes.complete(REQUEST_TIMEOUT)
        self.connections.close()
        await self.session.close()
        await self.unpooled.close()

    def with_credentials(self, credentials: Credentials) -> HttpClient:
        """A client of the same connections that sends the credentials with each request."""
        client = copy.copy(self)
        client.headers = credentials.request_headers()
        client.tls = credentials.tls()
        return client

    def without_headers(self) -> HttpClient:
        """A client with the same certificates that sends neither passwords nor tokens nor headers."""
        client = copy.copy(self)
        client.headers = {}
        return client

    def for_scheduler(self, target: str) -> HttpClient:
        """A client that reaches what listens at the address of a target now.

        A connection that is kept leads to the scheduler that accepted it. If that closed, and its process
        made another one, the connection hangs, or the closed scheduler answers. TLS keeps connections: they
        take milliseconds to open, and mostly end at a proxy.
        """
        if urlsplit(target).scheme == "https":
            return self
        client = copy.copy(self)
        client.session = self.unpooled
        client.keeps_connections = False
        return client

    def trust(self, target: str) -> None:
        """Allows the host of a target to be this machine."""
        self.resolver.trusted.add(urlsplit(target).hostname or "")

    async def get(
        self, url: str, limit: int, timeout: float = REQUEST_TIMEOUT, *, is_cut: bool = False
    ) -> Answer:
        """GETs `url`. Raises FetchError, also for a status other than 200 and a body over `limit` bytes.

        `is_cut`: of a longer body the beginning is returned.
        """
        if url.startswith("http://") and not self.guards:
            return await self._get_plain(url, limit, timeout, is_cut)
        return await self._get(url, limit, timeout, is_cut)

    async def _get_plain(self, url: str, limit: int, timeout: float, is_cut: bool) -> Answer:
        sent = time.time()
        try:
            request, headers = request_to(url, AGENT), header_lines(self.headers)
            async with TimeLimit(timeout):
                address = await self._address(request)
                if address is None:
                    return await self._get(url, limit, timeout, is_cut)
                response = await self.connections.get(
                    address, request, headers, limit, is_cut, self.keeps_connections
                )
        except (TimeoutError, ConnectionEnded, InvalidAnswer, LongAnswer, OSError, ValueError) as error:
            raise plain_failure_of(error, limit, timeout) from error
        check_status(response.status, response.headers)
        date = _parsed_date(response.headers.get("date", ""))
        return Answer(response.body, response.headers.get("content-type", ""), sent, response.received, date)

    async def _address(self, request: Request) -> str | None:
        """The IP address to which a request goes; None if its host has several."""
        if is_refused(request.host):
            raise FetchError(Failure.REFUSED, OF_METADATA)
        if is_ip(request.host):
            return request.host
        known, until = self.addresses.get(request.host, ([], 0.0))
        if time.monotonic() > until:
            try:
                found = await self.resolver.resolve(request.host, request.port, socket.AF_UNSPEC)
            except OSError:
                raise FetchError(Failure.REFUSED, UNKNOWN_HOST) from None
            known = sorted({entry["host"] for entry in found})
            if len(self.addresses) >= MOST_NAMES:
                self.addresses.clear()
            self.addresses[request.host] = known, time.monotonic() + NAMES_LIFETIME
        return known[0] if len(known) == 1 else None

    async def _get(self, url: str, limit: int, timeout: float, is_cut: bool) -> Answer:
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        sent = time.time()
        try:
            async with self.session.get(
                url, allow_redirects=False, timeout=limits, headers=self.headers, ssl=self.tls
            ) as response:
                received = time.time()
                check_status(response.status, response.headers)
                body = await read_bounded(response, limit, is_cut)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error, timeout) from error
        return Answer(body, response.headers.get("Content-Type", ""), sent, received, date_of(response))

    async def connect(self, url: str, timeout: float) -> aiohttp.ClientWebSocketResponse:
        """An open WebSocket. Raises TimeoutError and aiohttp's errors."""
        return await self.handshakes.connect(url, timeout, self.headers, self.tls)

    async def get_json(self, url: str, limit: int, timeout: float = REQUEST_TIMEOUT) -> tuple[Answer, Any]:
        """GETs `url` and decodes the body as JSON. Raises FetchError."""
        answer = await self.get(url, limit, timeout)
        try:
            return answer, await parse_off_loop(read_json, answer.body)
        except (ValueError, RecursionError):
            raise FetchError(Failure.ANSWER, "its answer is not JSON") from None


async def parse_off_loop(parse: Any, body: bytes) -> Any:
    """Calls parse(body), in a thread when the body is large enough to block the event loop."""
    return await asyncio.to_thread(parse, body) if len(body) > 2**20 else parse(body)


def refuse_redirects() -> aiohttp.TraceConfig:
    """Stops redirects; aiohttp's WebSocket handshake has no option for that."""

    async def refuse(*_: object) -> None:
        raise FetchError(Failure.ANSWER, "it answered with a redirect, and redirects are not followed")

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(refuse)
    return trace


def refuse_metadata() -> aiohttp.TraceConfig:
    """Stops a request to the address of a cloud's metadata service; the resolver stops those to its names."""
    return refuse_addresses(is_metadata, OF_METADATA)


@lru_cache(maxsize=MOST_NAMES)
def is_ip(host: str) -> bool:
    try:
        parse_ip(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=MOST_NAMES)
def is_refused(host: str) -> bool:
    """Whether a host is the IP address of a cloud's metadata service."""
    return is_ip(host) and is_metadata(parse_ip(host))


def refuse_addresses(is_refused: Callable[[IPAddress], bool], message: str) -> aiohttp.TraceConfig:
    """Stops a request to an IP address that is refused; a resolver has to stop those to names."""

    async def refuse(_: object, __: object, parameters: aiohttp.TraceRequestStartParams) -> None:
        try:
            address = parse_ip(parameters.url.host or "")
        except ValueError:
            return  # a name
        if is_refused(address):
            raise FetchError(Failure.REFUSED, message)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(refuse)
    return trace


def check_status(status: int, headers: Mapping[str, str]) -> None:
    """Raises FetchError unless the status is 200 and the body is not compressed.

    The headers have names in lower case, or any that are found so.
    """
    if 300 <= status < 400:
        where = headers.get("location", "")[:200]
        message = f"it answered with a redirect to {where!r}, and redirects are not followed"
        raise FetchError(Failure.ANSWER, message, status)
    if status != 200:
        raise FetchError(Failure.ANSWER, f"it answered with status {status}", status)
    if headers.get("content-encoding", "identity") != "identity":
        raise FetchError(Failure.ANSWER, "it answered with a compressed body, which was not requested")


async def read_bounded(response: aiohttp.ClientResponse, limit: int, is_cut: bool = False) -> bytes:
    """Reads the body. Raises FetchError when it is longer than `limit` bytes, unless it `is_cut` there."""
    parts: list[bytes] = []
    length = 0
    async for part in response.content.iter_chunked(2**16):
        length += len(part)
        if length > limit and is_cut:
            parts.append(part[: limit - length])
            break
        if length > limit:
            raise too_long(limit)
        parts.append(part)
    return b"".join(parts)


def date_of(response: aiohttp.ClientResponse) -> float | None:
    """The Date header in seconds since the epoch; None when it is missing or malformed."""
    return _parsed_date(response.headers.get("Date", ""))


@lru_cache(maxsize=64)
def _parsed_date(text: str) -> float | None:
    """Remembered: all answers of a second have the same date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def too_long(limit: int) -> FetchError:
    return FetchError(Failure.ANSWER, f"its answer is longer than {limit // 2**20} MB")


def plain_failure_of(error: Exception, limit: int, timeout: float) -> FetchError:
    """The same for an exception of http/connections.py."""
    if isinstance(error, LongAnswer):
        return too_long(limit)
    if isinstance(error, InvalidAnswer):
        return FetchError(Failure.ANSWER, f"its answer is not valid HTTP ({error})")
    if isinstance(error, ConnectionEnded):
        return FetchError(Failure.REFUSED, CLOSED)
    if isinstance(error, ValueError):
        return FetchError(Failure.ANSWER, "its address is not valid")
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return FetchError(Failure.REFUSED, f"it cannot be reached: {error.strerror or error}"[:300])
    return failure_of(error, timeout)


def failure_of(error: BaseException, timeout: float) -> FetchError:
    """The FetchError for an exception of aiohttp or a socket, with a message for users."""
    if isinstance(error, TimeoutError):
        return FetchError(Failure.TIMEOUT, f"it did not answer within {timeout:g} s")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return FetchError(Failure.REFUSED, UNKNOWN_HOST)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return FetchError(Failure.ANSWER, "its TLS certificate or protocol is not accepted")
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or str(error.os_error)
        return FetchError(Failure.REFUSED, f"it cannot be reached: {reason}"[:300])
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | OSError):
        return FetchError(Failure.REFUSED, CLOSED)
    if isinstance(error, aiohttp.InvalidURL):
        return FetchError(Failure.ANSWER, "its address is not valid")
    return FetchError(Failure.ANSWER, f"its answer is not valid HTTP ({type(error).__name__})")
