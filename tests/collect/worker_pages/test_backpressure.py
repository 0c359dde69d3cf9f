"""A real web process between a worker that sends without end and a browser that reads nothing."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from aiohttp import web
from websockets.sync.client import connect
from websockets.typing import Origin

from observatory.collect.worker_pages.limits import REQUESTS_OF_USER
from tests.browser.observatory import free_port
from tests.collect.worker_pages.conftest import Site
from tests.support.web_process import web_process

PIECE_BYTES = 2**20
MOST_BYTES = 64 * PIECE_BYTES
"""far more than the buffers of sockets and processes hold"""
UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: null\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
NO_ORIGIN = cast(Origin, "null")


def test_what_a_browser_does_not_read_is_not_fetched(site: Site, tmp_path: Path) -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        while True:
            await answer.send_bytes(bytes(PIECE_BYTES))
            sent += PIECE_BYTES

    site.worker.answers["/status/ws"] = flood
    path = f"/worker-pages/{site.ticket()}/status"
    port = free_port()
    with web_process(tmp_path, port, OBSERVATORY_WORKER_PAGES="127.0.0.0/8") as own, ExitStack() as stack:
        unread = stack.enter_context(opened(port, f"{path}/ws", UPGRADE))
        before = -1
        while not sent or sent != before:  # until it stands still
            assert sent < MOST_BYTES
            before = sent
            time.sleep(3)
        unread.close()

        site.worker.page("/status", "x" * (7 * PIECE_BYTES))
        stuck = [stack.enter_context(opened(port, path)) for _ in range(REQUESTS_OF_USER)]
        with connect(f"{own.replace('http', 'ws')}{path}/ws", origin=NO_ORIGIN, max_size=None) as other:
            assert len(other.recv(60)) == PIECE_BYTES, "the process answers"
        for each in stuck:
            each.close()
        answer = stack.enter_context(opened(port, path))
        assert b" 200 " in answer.recv(100), "room is made when browsers are gone"


def opened(port: int, path: str, more: str = "") -> socket.socket:
    """A connection that sends a request, and reads nothing."""
    made = socket.create_connection(("127.0.0.1", port), 60)
    made.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode())
    return made
