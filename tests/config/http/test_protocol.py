"""A client that sends a request only in part is disconnected; a slow one, or one that waits, is not."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from django.conf import LazySettings
from django.utils.module_loading import import_string
from websockets.sync.client import connect

from observatory.config.http.protocol import HttpProtocol
from observatory.runtime.supervision.options import Options
from observatory.runtime.supervision.programs import web

ROOT = Path(__file__).resolve().parents[3]
NAME = "observatory.config.http.protocol:HttpProtocol"
GIVE_UP = 60
"""seconds; a client that is not disconnected fails its test then"""
WHOLE = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
LARGE = 1 << 20
"""bytes; more than uvicorn keeps for an application that does not read"""


class Application:
    """Answers with the length of the body, when it may read; echoes one message of a socket."""

    def __init__(self) -> None:
        self.may_read = threading.Event()
        self.may_read.set()
        self.disconnected = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            message = await receive()
            await send({"type": "websocket.send", "text": message["text"]})
            return
        while not self.may_read.is_set():
            await asyncio.sleep(0.01)
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnected.set()
                return
            length += len(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"{length} bytes".encode()})


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def timeout() -> int:
    return 1


@pytest.fixture
def port(application: Application, settings: LazySettings, timeout: int) -> Iterator[int]:
    """A server whose clients have `timeout` seconds for what they send."""
    settings.REQUEST_TIMEOUT = timeout
    with socket.create_server(("127.0.0.1", 0)) as listening:
        options: dict[str, Any] = {"lifespan": "off", "log_level": "warning", "timeout_keep_alive": GIVE_UP}
        server = uvicorn.Server(uvicorn.Config(application, http=HttpProtocol, **options))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(120)


Send = Callable[[bytes], socket.socket]


@pytest.fixture
def send(port: int) -> Iterator[Send]:
    """Opens a connection and sends something."""
    with ExitStack() as stack:

        def send(data: bytes) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), GIVE_UP))
            client.sendall(data)
            return client

        yield send


def answer(client: socket.socket) -> bytes:
    """What the server sends until it has answered with a number of bytes, or disconnects."""
    received = b""
    while not received.endswith(b" bytes\r\n0\r\n\r\n") and (part := client.recv(1 << 16)):
        received += part
    return received


def test_a_client_that_sends_part_of_a_header_is_disconnected(send: Send) -> None:
    parts = [b"", b"\r\n", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"]
    clients = [send(part) for part in parts]
    assert [client.recv(1) for client in clients] == [b""] * len(parts)


def test_a_client_that_sends_its_header_byte_by_byte_without_end_is_disconnected(send: Send) -> None:
    client = send(b"GET / HTTP/1.1\r\nX: ")
    client.settimeout(0.05)
    for _ in range(20 * GIVE_UP):
        try:
            client.sendall(b"x")
            assert client.recv(1) == b""
        except TimeoutError:
            continue
        except ConnectionError:
            pass
        return
    pytest.fail("it is still connected")


def test_a_client_that_sends_part_of_a_body_is_disconnected_and_the_application_informed(
    send: Send, application: Application
) -> None:
    assert send(WHOLE[:-2]).recv(1) == b""
    assert application.disconnected.wait(GIVE_UP)


@pytest.mark.parametrize("timeout", [2])
def test_a_client_that_sends_part_of_a_second_request_is_disconnected(send: Send) -> None:
    clients = [send(WHOLE) for _ in range(2)]
    for client, part in zip(clients, (b"\r\n", b"GET /"), strict=True):
        assert b"4 bytes" in answer(client)
        client.sendall(part)
    assert [client.recv(1) for client in clients] == [b"", b""]


@pytest.mark.parametrize("timeout", [3])
def test_slow_uploads_slow_applications_and_sockets_may_take_longer_than_the_timeout(
    send: Send, application: Application, port: int, timeout: int
) -> None:
    application.may_read.clear()
    waiting = send(WHOLE)
    unread = send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % LARGE)
    unread.sendall(bytes(LARGE))
    steps = 5 * (timeout + 1)
    slow = send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % steps)
    with connect(f"ws://127.0.0.1:{port}/") as page:
        for _ in range(steps):
            time.sleep(0.2)
            slow.sendall(b"x")
        page.send("hello")
        assert page.recv(GIVE_UP) == "hello"
    application.may_read.set()
    assert b"4 bytes" in answer(waiting)
    assert b"%d bytes" % LARGE in answer(unread)
    assert b"%d bytes" % steps in answer(slow)


def test_the_server_and_the_image_use_it() -> None:
    command = web(Options()).command
    assert NAME in command
    assert f'"{NAME}"' in (ROOT / "Dockerfile").read_text()
    assert import_string(NAME.replace(":", ".")) is HttpProtocol
