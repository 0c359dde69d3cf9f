"""A fake server that can misbehave in many ways."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from observatory.wire.batches import decode_batch
from tests.agent.fake_server import TOKEN, FakeServer, Handler


class FaultyHandler(Handler):
    server: Any

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections.append(self.connection)

    def do_POST(self) -> None:
        owner: FaultyServer = self.server.owner
        owner.asked += 1
        behaviour = owner.behaviours.pop(0) if owner.behaviours else owner.behaviour
        getattr(self, f"_{behaviour.replace('-', '_')}")()

    def _well(self) -> None:
        refuses = self.server.owner.refuses
        body = self._body()
        if refuses is not None and refuses(decode_batch(gzip.decompress(body))[1]):
            self._answer(400, b"a record is wrong")
        else:
            self._answer(200, self._take(body))

    def _failing(self) -> None:
        self._body()
        self._answer(500, b"<h1>Server Error</h1>")

    def _forbidding(self) -> None:
        self._body()
        self._answer(401, b"unknown token")

    def _refusing(self) -> None:
        self._body()
        self._answer(422, b"the head is wrong")

    def _too_large_early(self) -> None:
        """Answers before the body has come, and takes no more of it."""
        self._answer(413, b"too large")
        self._cut()

    def _busy(self) -> None:
        self._body()
        self._answer(429, b"later", {"Retry-After": "7"})

    def _redirecting(self) -> None:
        self._body()
        self._answer(307, b"", {"Location": f"{self.receiving.url}/elsewhere"})

    def _somebody_else(self) -> None:
        self._body()
        self._answer(200, b"<html>Welcome to the hotel's network</html>")

    def _endless(self) -> None:
        self._body()
        self._answer(200, b" " * 10_000_000)

    def _continuing(self) -> None:
        """Interim answers without end: until the client has gone."""
        self._body()
        with contextlib.suppress(OSError):
            while True:
                self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

    def _nested(self) -> None:
        self._body()
        self._answer(200, b"[" * 90_000)

    def _slow(self) -> None:
        body = self._body()
        time.sleep(self.server.owner.delay)
        self._answer(200, self._take(body))

    def _cutting_requests(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]) // 2)
        self._cut()

    def _cutting_answers(self) -> None:
        """The batch is stored, and whoever sent it doesn't learn it."""
        self._take(self._body())
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        self.wfile.flush()
        self._cut()

    def _hanging_up(self) -> None:
        """Answers, and closes the connection though it promised to keep it."""
        self._answer(200, self._take(self._body()))
        self._cut()

    def _body(self) -> bytes:
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        assert self.headers["Content-Encoding"] == "gzip"
        assert self.path == "/api/v1/ingest"
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _take(self, body: bytes) -> bytes:
        sequence = self.receiving.take(gzip.decompress(body))
        return json.dumps({"sequence": sequence}).encode()

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class FaultyServer:
    """A server that can be stopped and started on the same port."""

    def __init__(self) -> None:
        self.behaviour = "well"
        self.behaviours: list[str] = []
        """of the next requests, one each"""
        self.refuses: Callable[[dict[str, Any]], bool] | None = None
        """whether it won't take a batch of these blocks"""
        self.delay = 0.2
        self.asked = 0
        self.connections: list[socket.socket] = []
        self._address = ("127.0.0.1", 0)
        self._server: http.server.ThreadingHTTPServer | None = None
        self.start()
        self.received = FakeServer(f"http://127.0.0.1:{self._address[1]}")
        self._bind()

    @property
    def url(self) -> str:
        return self.received.url

    def start(self) -> None:
        self._server = server = http.server.ThreadingHTTPServer(self._address, FaultyHandler)
        server.owner = self  # type: ignore[attr-defined]
        self._address = server.server_address[:2]  # type: ignore[assignment]
        if hasattr(self, "received"):
            self._bind()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def _bind(self) -> None:
        assert self._server is not None
        bound = type("Bound", (FaultyHandler,), {"receiving": self.received})
        self._server.RequestHandlerClass = bound

    def stop(self) -> None:
        """Refuses connections, and resets those that there are."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        while self.connections:
            connection = self.connections.pop()
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def faulty_server() -> Iterator[FaultyServer]:
    server = FaultyServer()
    try:
        yield server
    finally:
        server.stop()
