"""Requests to what is observed: no redirects, bounded bodies, time limits, http(s) and ws(s) alone."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from observatory.collect.http.addresses import is_metadata, is_reserved, parse_ip

IDENTITY_LIMIT = 64 * 2**20
METRICS_LIMIT = 32 * 2**20
CONNECT_TIMEOUT = 4.0
REQUEST_TIMEOUT = 5.0
AGENT = "dask-observatory"


class Failure(Enum):
    """What kind of failure a request met: it decides whether a scheduler is gone or hangs."""

    REFUSED = "refused"
    """nobody listens there: refused, reset, no such name, no route"""
    TIMEOUT = "timeout"
    """it accepts connections and doesn't answer"""
    ANSWER = "answer"
    """it answers, but not with what was asked for"""


class FetchError(Exception):
    """A request that gave no usable answer; the message is for people."""

    def __init__(self, failure: Failure, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.failure = failure
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    content_type: str
    sent: float
    """when the request was sent, on our clock"""
    received: float
    """when the answer's first bytes were here, on our clock"""
    date: float | None
    """the answer's Date header, whole seconds of the server's clock"""


class GuardedResolver(ThreadedResolver):
    """Resolves names, but to addresses of this machine or this wire only for the hosts of targets."""

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
            raise OSError(f"{host} is an address of this machine or wire")
        return allowed


class HttpClient:
    """One HTTP client for everything that a collector asks. `async with HttpClient() as client`."""

    def __init__(self) -> None:
        self.resolver = GuardedResolver()

    async def __aenter__(self) -> HttpClient:
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=self.resolver, ttl_dns_cache=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,
            trace_configs=[refuse_redirects(), refuse_metadata()],
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.session.close()

    def trust(self, target: str) -> None:
        """Lets the host of a target's address be this machine."""
        self.resolver.trusted.add(urlsplit(target).hostname or "")

    async def get(self, url: str, limit: int, timeout: float = REQUEST_TIMEOUT) -> Answer:
        """The answer to GET `url`. Raises FetchError, also for a status but 200 or over `limit` bytes."""
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        sent = time.time()
        try:
            async with self.session.get(url, allow_redirects=False, timeout=limits) as response:
                received = time.time()
                check_status(response)
                body = await read_bounded(response, limit)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error, timeout) from error
        return Answer(body, response.headers.get("Content-Type", ""), sent, received, date_of(response))

    async def get_json(self, url: str, limit: int, timeout: float = REQUEST_TIMEOUT) -> tuple[Answer, Any]:
        """The answer and what its JSON holds. Raises FetchError."""
        answer = await self.get(url, limit, timeout)
        try:
            return answer, await parse_off_loop(json.loads, answer.body)
        except (ValueError, RecursionError):
            raise FetchError(Failure.ANSWER, "it answered with something that isn't JSON") from None


async def parse_off_loop(parse: Any, body: bytes) -> Any:
    """parse(body), in a thread when the body is so large that it would hold up the event loop."""
    return await asyncio.to_thread(parse, body) if len(body) > 2**20 else parse(body)


def refuse_redirects() -> aiohttp.TraceConfig:
    """Stops a redirect before it is followed: aiohttp's WebSocket handshake has no switch for it."""

    async def refuse(*_: object) -> None:
        raise FetchError(Failure.ANSWER, "it answered with a redirect, and redirects are not followed")

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(refuse)
    return trace


def refuse_metadata() -> aiohttp.TraceConfig:
    """Stops a request to the address of a cloud's metadata service; the resolver stops those to its names."""

    async def refuse(_: object, __: object, parameters: aiohttp.TraceRequestStartParams) -> None:
        try:
            address = parse_ip(parameters.url.host or "")
        except ValueError:
            return  # a name
        if is_metadata(address):
            raise FetchError(Failure.REFUSED, "it is the address of a cloud's metadata service")

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(refuse)
    return trace


def check_status(response: aiohttp.ClientResponse) -> None:
    if 300 <= response.status < 400:
        where = response.headers.get("Location", "")[:200]
        message = f"it answered with a redirect to {where!r}, and redirects are not followed"
        raise FetchError(Failure.ANSWER, message, response.status)
    if response.status != 200:
        raise FetchError(Failure.ANSWER, f"it answered with status {response.status}", response.status)
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise FetchError(Failure.ANSWER, "it answered with a compressed body, which was not asked for")


async def read_bounded(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body of a response. Raises FetchError when it is longer than `limit` bytes."""
    parts: list[bytes] = []
    length = 0
    async for part in response.content.iter_chunked(2**16):
        length += len(part)
        if length > limit:
            raise FetchError(Failure.ANSWER, f"its answer is longer than {limit // 2**20} MB")
        parts.append(part)
    return b"".join(parts)


def date_of(response: aiohttp.ClientResponse) -> float | None:
    try:
        return parsedate_to_datetime(response.headers["Date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def failure_of(error: BaseException, timeout: float) -> FetchError:
    """What an exception of aiohttp or the sockets means for people."""
    if isinstance(error, TimeoutError):
        return FetchError(Failure.TIMEOUT, f"it didn't answer within {timeout:g} s")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return FetchError(Failure.REFUSED, "its host name can't be resolved")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return FetchError(Failure.ANSWER, "its TLS certificate or protocol is not accepted")
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or str(error.os_error)
        return FetchError(Failure.REFUSED, f"it can't be reached: {reason}"[:300])
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | OSError):
        return FetchError(Failure.REFUSED, "it closed the connection without an answer")
    if isinstance(error, aiohttp.InvalidURL):
        return FetchError(Failure.ANSWER, "its address is not valid")
    return FetchError(Failure.ANSWER, f"it doesn't speak HTTP as expected ({type(error).__name__})")
