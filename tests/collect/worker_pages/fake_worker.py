"""An HTTP server in the place of a worker's: it answers as a test says, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class FakeWorker:
    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    """by path; others are 404"""
    requests: list[web.Request] = field(default_factory=list)
    sockets_closed: threading.Event = field(default_factory=threading.Event)

    def page(self, path: str, text: str, status: int = 200, **headers: str) -> None:
        """A page with a text; `_` in the names of headers is `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = named.pop("Content-Type", "text/html")

        async def answer(_: web.Request) -> web.Response:
            return web.Response(text=text, status=status, headers={"Content-Type": kind, **named})

        self.answers[path] = answer

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        answer = self.answers.get(request.path)
        return await answer(request) if answer else web.Response(status=404, text="nothing")

    async def echo(self, request: web.Request) -> web.StreamResponse:
        """A WebSocket that returns messages; "flood:N" is answered by one of N bytes, "end" by closing."""
        wanted = request.headers.get("Sec-WebSocket-Protocol", "")
        protocols = [protocol.strip() for protocol in wanted.split(",") if protocol]
        socket = web.WebSocketResponse(protocols=protocols[:1])
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data)
            elif message.data.startswith("flood:"):
                await socket.send_bytes(bytes(int(message.data[6:])))
            elif message.data == "end":
                break
            else:
                await socket.send_str(message.data)
        self.sockets_closed.set()
        return socket


async def endless(request: web.Request) -> web.StreamResponse:
    """An answer without an end."""
    response = web.StreamResponse(headers={"Content-Type": "text/javascript"})
    await response.prepare(request)
    while True:
        await response.write(b"/" * 2**16)


async def silent(_: web.Request) -> web.StreamResponse:
    """No answer."""
    await asyncio.sleep(3600)
    raise AssertionError


@contextmanager
def fake_worker() -> Iterator[FakeWorker]:
    worker = FakeWorker()
    loop = asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        application = web.Application()
        application.router.add_get("/{path:.*}", worker.handle)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        worker.port = runner.addresses[0][1]
        return runner

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    try:
        yield worker
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
