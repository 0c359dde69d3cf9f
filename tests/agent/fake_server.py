"""A fake Observatory in the test's process, which decodes the batches of an agent."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.wire.batches import decode_batch
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS

TOKEN = "a token of the tests"


class FakeServer:
    """The received batches, each once, in order of arrival."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heads: list[Head] = []
        self.bodies: list[bytes] = []
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in KINDS}
        self.refused = 0
        self.digests: set[str] = set()
        """Beginnings of the digests of other tokens of the project."""
        self._last: dict[str, int] = {}
        self._lock = threading.Lock()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.rows["event"] if row["kind"] == kind]

    def take(self, body: bytes) -> int:
        head, blocks = decode_batch(body)
        with self._lock:
            if head.sequence > self._last.get(head.agent, 0):
                self._last[head.agent] = head.sequence
                self.heads.append(head)
                self.bodies.append(body)
                for name, block in blocks.items():
                    records, refused = records_of_block(block)
                    self.refused += refused
                    names = KINDS[name].names
                    self.rows[name] += [dict(zip(names, row, strict=True)) for row in records.rows()]
        return head.sequence


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiving: FakeServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        match self.headers.get("Content-Encoding"):
            case "gzip":
                body = gzip.decompress(body)
            case "deflate":
                body = zlib.decompress(body)
        sequence = self.receiving.take(body)
        answer = json.dumps({"sequence": sequence, "refused": 0, "already": False}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self) -> None:
        """Tells whether a token is of the same project, as `GET /api/v1/ingest/same-project` does."""
        path, _, digest = self.path.partition("?digest=")
        assert path == "/api/v1/ingest/same-project"
        answer = json.dumps({"same_project": digest in self.receiving.digests}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def fake_server() -> Iterator[FakeServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = FakeServer(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("Bound", (Handler,), {"receiving": received})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
