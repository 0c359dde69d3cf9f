"""The HTTP client for one worker's pages. Nothing is shared between two requests, not even a connection."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import ResolveResult

from observatory.clusters.addresses.ip_addresses import parse_ip
from observatory.collect.http.fetch import (
    CONNECT_TIMEOUT,
    FetchError,
    GuardedResolver,
    HttpClient,
    failure_of,
    read_bounded,
    refuse_addresses,
)
from observatory.collect.http.handshakes import CLOSE_TIMEOUT, close_socket
from observatory.collect.worker_pages.destination import Destination, Missing, NoPages, is_permitted
from observatory.collect.worker_pages.paths import FIRST

log = logging.getLogger(__name__)

ANSWER_LIMIT = 8 * 2**20
"""bytes; Bokeh's largest file has one million"""
ANSWER_TIMEOUT = 20.0
"""seconds until the whole answer is there"""
MESSAGE_LIMIT = 4 * 2**20
"""bytes of a message of a socket"""
HEARTBEAT = 30.0
CONTENT_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+(; ?charset=[A-Za-z0-9-]+)?", re.IGNORECASE)
OUTSIDE = "its address is not in the networks of OBSERVATORY_WORKER_PAGES"


@dataclass(frozen=True, slots=True)
class Page:
    """A worker's answer. Of its headers no others are kept."""

    status: int
    content_type: str
    location: str
    body: bytes


class PermittedResolver(GuardedResolver):
    """Resolves to addresses in the networks of OBSERVATORY_WORKER_PAGES only."""

    def __init__(self) -> None:
        super().__init__()
        self.is_outside = False
        """Whether a host had no others."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        permitted = [entry for entry in found if is_permitted(parse_ip(entry["host"]))]
        if not permitted:
            self.is_outside = True
            raise OSError(OUTSIDE)
        return permitted


class WorkerClient:
    """Requests the pages of one destination at one of its URLs."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self._client = client
        self.url = url

    async def get(self, path: str) -> Page:
        """The answer to a GET, whatever its status. Raises NoPages."""
        url = f"{self.url}/{path}"
        timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT, sock_connect=CONNECT_TIMEOUT)
        try:
            async with self._client.session.get(
                url,
                allow_redirects=False,
                timeout=timeout,
                headers=self._client.headers,
                ssl=self._client.tls,
            ) as response:
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    raise NoPages(Missing.UNREACHABLE, "The worker sent a compressed answer unasked.")
                if (response.content_length or 0) > ANSWER_LIMIT:
                    raise NoPages(Missing.UNREACHABLE, TOO_LONG)
                body = await read_bounded(response, ANSWER_LIMIT)
        except (FetchError, TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise self._no_pages(url, error, ANSWER_TIMEOUT) from error
        kind = response.headers.get("Content-Type", "")
        kind = kind if CONTENT_TYPE.fullmatch(kind) else "application/octet-stream"
        return Page(response.status, kind, response.headers.get("Location", "")[:2000], body)

    @asynccontextmanager
    async def socket(
        self, path: str, protocols: Sequence[str]
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """An open WebSocket. Without an Origin: Bokeh refuses some, but needs none. Raises NoPages."""
        url = f"{self.url}/{path}"
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                opened = await self._client.session.ws_connect(
                    url,
                    protocols=protocols,
                    headers=self._client.headers,
                    ssl=self._client.tls,
                    max_msg_size=MESSAGE_LIMIT,
                    heartbeat=HEARTBEAT,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT),
                    compress=0,
                )
        except (FetchError, TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise self._no_pages(url, error, ANSWER_TIMEOUT) from error
        try:
            yield opened
        finally:
            await close_socket(opened)

    def _no_pages(self, url: str, error: Exception, timeout: float) -> NoPages:
        """Logs the reason. People get none, so that nobody can scan a network with named workers."""
        found = error if isinstance(error, FetchError) else failure_of(error, timeout)
        resolver = self._client.resolver
        is_outside = str(found) == OUTSIDE or getattr(resolver, "is_outside", False)
        log.info("the worker's page %s can't be shown: %s", url, OUTSIDE if is_outside else found)
        if is_outside:
            return NoPages(Missing.REFUSED, f"Observatory does not request them: {OUTSIDE}.")
        if "longer than" in str(found):
            return NoPages(Missing.UNREACHABLE, TOO_LONG)
        return NoPages(Missing.UNREACHABLE, UNREACHABLE)


TOO_LONG = f"The worker's answer is longer than {ANSWER_LIMIT >> 20} MiB."
UNREACHABLE = (
    "The worker does not answer Observatory's web process. It may be busy, or a firewall or network policy "
    "may be between them: the web process has to reach the port of the worker's HTTP server."
)


@asynccontextmanager
async def worker_client(destination: Destination, way: int) -> AsyncIterator[WorkerClient]:
    """A client for the URL with the number `way` of a destination."""
    outside = refuse_addresses(lambda address: not is_permitted(address), OUTSIDE)
    async with HttpClient(PermittedResolver(), [outside]) as client:
        if destination.trusted:
            client.trust(destination.trusted)
        yield WorkerClient(client.with_credentials(destination.credentials), destination.urls[way])


async def find_way(destination: Destination) -> int:
    """The number of the URL at which the worker has Dask's pages. Raises NoPages."""
    for way in range(len(destination.urls)):
        async with worker_client(destination, way) as client:
            if (await client.get(FIRST)).status == 200:
                return way
    raise NoPages(
        Missing.NO_DASHBOARD,
        "The worker answers, but has no dashboard: it was started with --no-dashboard, or Bokeh is not "
        "installed there.",
    )
