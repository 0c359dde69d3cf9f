"""ASGI: answers /worker-pages/TICKET/… with the pages of a worker. Other requests go to the application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

import django.db
import psycopg
from django.http import Http404

from observatory.collect.worker_pages.admission import Admission, admit
from observatory.collect.worker_pages.destination import Missing, NoPages
from observatory.collect.worker_pages.limits import Limits, TooMany
from observatory.collect.worker_pages.paths import START, followed, is_page_or_file, split_path
from observatory.collect.worker_pages.policy import (
    Headers,
    answer_headers,
    is_of_the_frame,
    is_own_host,
)
from observatory.collect.worker_pages.tickets import TicketError, read_ticket
from observatory.collect.worker_pages.worker_client import Page, worker_client

WAIT_TIMEOUT, SEND_TIMEOUT = 60.0, 120.0
"""seconds to the worker's answer, with the wait for room; and until a browser has read it"""
PIECE_BYTES = 2**16
"""bytes sent at once: the server waits between two until a browser has read"""
UNAVAILABLE = "The database isn't available."

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class Refused(Exception):
    """A request that is not passed on. The message is the answer's text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WorkerPages:
    """ASGI middleware for HTTP requests."""

    def __init__(self, application: Application, limits: Limits) -> None:
        self.application = application
        self.limits = limits

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(START):
            await self.application(scope, receive, send)
            return
        ticket, path = split_path(scope["path"])
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        try:
            if not is_own_host(host):
                raise Refused(400, "This is another host's name.")
            admission = await self._admitted(scope, headers, ticket, path)
            await self._answer(admission, ticket, path, host, send)
        except Refused as refused:
            page = Page(refused.status, "text/plain; charset=utf-8", "", str(refused).encode())
            # without a host that is ours and a ticket that is valid, the policy has none
            await _send(send, page, answer_headers("localhost", "none", page.content_type))

    async def _admitted(
        self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes], ticket: str, path: str
    ) -> Admission:
        """Raises Refused."""
        if scope["method"] != "GET":
            raise Refused(405, "Worker pages are only read.")
        if not is_of_the_frame(headers):
            raise Refused(403, "Worker pages are shown in the frame of Observatory's page alone.")
        try:
            admission: Admission = await admit(scope, read_ticket(ticket))
        except TicketError as error:
            raise Refused(403, str(error)) from None
        except Http404 as error:
            raise Refused(404, str(error)) from None
        except NoPages as error:
            raise Refused(error.missing.value, str(error)) from None
        except (psycopg.Error, django.db.Error):
            raise Refused(503, UNAVAILABLE) from None
        if not is_page_or_file(path):
            raise Refused(404, "This is none of a worker's pages.")
        return admission

    async def _answer(self, admission: Admission, ticket: str, path: str, host: str, send: Send) -> None:
        """Raises Refused before anything is sent."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(WAIT_TIMEOUT):
                    # until a browser has read the answer, which is in memory
                    await stack.enter_async_context(self.limits.request(admission.user))
                    page = await _page(admission, path)
            except TooMany as error:
                raise Refused(503, str(error)) from None
            except TimeoutError:
                raise Refused(503, "Too many worker pages are requested: try again in a minute.") from None
            headers = answer_headers(host, ticket, page.content_type)
            with suppress(TimeoutError):  # the server closes the connection
                async with asyncio.timeout(SEND_TIMEOUT):
                    await _send(send, page, headers)


async def _page(admission: Admission, path: str) -> Page:
    """Raises Refused."""
    try:
        async with worker_client(admission.destination, admission.way) as client:
            page = await client.get(path)
            if page.status == 200:
                return page
            if page.status == 404:
                raise Refused(404, "The worker has no such page.")
            to = (
                followed(client.url, path, page.location)
                if 300 <= page.status < 400 and page.location
                else None
            )
    except NoPages as error:
        raise Refused(error.missing.value, str(error)) from None
    if to is None:
        raise Refused(
            Missing.UNREACHABLE.value,
            f"The worker answered with the status {page.status}, which is not shown.",
        )
    up = "../" * path.count("/")
    return Page(302, "text/plain; charset=utf-8", f"{up}{to}", b"")


async def _send(send: Send, page: Page, headers: Headers) -> None:
    location = [(b"location", page.location.encode())] if page.status == 302 else []
    length = (b"content-length", str(len(page.body)).encode())
    start = {"type": "http.response.start", "status": page.status, "headers": [*headers, length, *location]}
    await send(start)
    for place in range(0, len(page.body), PIECE_BYTES):
        piece = page.body[place : place + PIECE_BYTES]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})
