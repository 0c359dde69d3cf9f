"""ASGI: Bokeh's WebSockets of worker pages. Every other socket goes to the application."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import aiohttp
import django.db
import psycopg
from django.http import Http404

from observatory.collect.worker_pages.admission import Admission, admit
from observatory.collect.worker_pages.destination import NoPages
from observatory.collect.worker_pages.limits import Limits, TooMany, pace
from observatory.collect.worker_pages.paths import START, is_socket, split_path
from observatory.collect.worker_pages.policy import is_of_the_sandbox, is_own_host
from observatory.collect.worker_pages.relay import Application, Receive, Send
from observatory.collect.worker_pages.tickets import Ticket, TicketError, read_ticket
from observatory.collect.worker_pages.worker_client import worker_client

log = logging.getLogger(__name__)

CHECK_ACCESS_EVERY = 30.0
"""seconds, within which signing out, losing membership and the worker's end close a socket"""
PROTOCOL = re.compile(r"[\w!#$%&'*+.^`|~-]{1,16000}", re.ASCII)
"""a subprotocol: "bokeh", and the token of Bokeh's session"""
MOST_PROTOCOLS = 4
REFUSED, GONE = 4403, 1001


class WorkerSockets:
    """ASGI middleware for WebSockets."""

    def __init__(self, application: Application, limits: Limits) -> None:
        self.application = application
        self.limits = limits

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(START):
            await self.application(scope, receive, send)
            return
        await receive()  # websocket.connect
        code = await self._relayed(scope, receive, send)
        if code is not None:
            await send({"type": "websocket.close", "code": code})

    async def _relayed(self, scope: dict[str, Any], receive: Receive, send: Send) -> int | None:
        """Relays a socket until one side closes it; the code to close it with, None if the browser did."""
        text, path = split_path(scope["path"])
        headers = dict(scope["headers"])
        protocols = scope.get("subprotocols", [])
        if (
            not is_own_host(headers.get(b"host", b"").decode("latin-1"))
            or not is_of_the_sandbox(headers)
            or not is_socket(path)
            or len(protocols) > MOST_PROTOCOLS
            or not all(PROTOCOL.fullmatch(protocol) for protocol in protocols)
        ):
            return REFUSED
        try:
            ticket = read_ticket(text)
            admission: Admission = await admit(scope, ticket)
            with self.limits.socket(admission.user):
                async with (
                    worker_client(admission.destination, admission.way) as client,
                    client.socket(path, protocols) as worker,
                ):
                    await send({"type": "websocket.accept", "subprotocol": worker.protocol})
                    return await _both_ways(worker, scope, ticket, receive, send)
        except (TicketError, Http404, NoPages, TooMany, psycopg.Error, django.db.Error) as error:
            log.info("a socket of a worker's page isn't opened: %s", str(error)[:200])
            return REFUSED


async def _both_ways(
    worker: aiohttp.ClientWebSocketResponse,
    scope: dict[str, Any],
    ticket: Ticket,
    receive: Receive,
    send: Send,
) -> int | None:
    """Passes messages on until one side closes, or access ends; the code, as of `_relayed`."""
    tasks = [
        asyncio.create_task(_to_browser(worker, send)),
        asyncio.create_task(_to_worker(worker, receive)),
        asyncio.create_task(_access_ends(scope, ticket)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        codes = [task.result() for task in done]
        return None if None in codes else codes[0]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_browser(worker: aiohttp.ClientWebSocketResponse, send: Send) -> int | None:
    async for message in worker:
        if message.type is aiohttp.WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": message.data})
        elif message.type is aiohttp.WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": message.data})
        else:  # aiohttp refuses it: too long, or no WebSocket any more
            break
        await pace(len(message.data))
    return GONE


async def _to_worker(worker: aiohttp.ClientWebSocketResponse, receive: Receive) -> int | None:
    while True:
        message = await receive()
        if message["type"] != "websocket.receive":
            return None
        text, data = message.get("text"), message.get("bytes")
        try:
            await (worker.send_str(text) if text is not None else worker.send_bytes(data or b""))
        except (aiohttp.ClientError, OSError):
            return GONE
        await pace(len(text if text is not None else data or b""))


async def _access_ends(scope: dict[str, Any], ticket: Ticket) -> int:
    """Returns when the person may no longer see the worker's pages, or the worker ended."""
    while True:
        await asyncio.sleep(CHECK_ACCESS_EVERY)
        try:
            await admit(scope, ticket)
        except (TicketError, Http404, NoPages):
            return REFUSED
        except (psycopg.Error, django.db.Error):
            continue  # asked again; the database is away
