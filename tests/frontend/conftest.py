"""The frontend's modules in a real Chromium, and a real HTTP server that tells it what a test wants told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.chromium import new_page, opened

ROOT = Path(__file__).resolve().parent.parent.parent
TYPES = {".js": "text/javascript", ".css": "text/css"}
BLANK = b"<!doctype html><meta charset=utf-8><title>test</title><body></body>"

Answer = tuple[int, bytes]


class Server:
    """Serves frontend/ and a blank page; below /api/, `answer` answers and `asked` keeps what was asked."""

    def __init__(self) -> None:
        self.forget()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body, type = outer.respond(self.path)
                self.send_response(status)
                self.send_header("Content-Type", type)
                self.send_header("Content-Length", str(len(body)))
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, address: Any) -> None:
                """The browser hangs up on what it aborts."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def forget(self) -> None:
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}
        self.answer: Callable[[str], Answer] = lambda path: (404, b"")

    def respond(self, path: str) -> tuple[int, bytes, str]:
        if path.startswith("/api/"):
            self.asked.append(path)
            return *self.answer(path), "application/octet-stream"
        file = ROOT / urlsplit(path).path.lstrip("/")
        if path.startswith("/frontend/") and file.is_file():
            return 200, file.read_bytes(), TYPES.get(file.suffix, "text/plain")
        return 200, BLANK, "text/html"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def one_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(one_server: Server) -> Server:
    one_server.forget()
    return one_server


@pytest.fixture(scope="module")
def context(chromium: Browser, one_server: Server) -> BrowserContext:
    return opened(chromium, one_server.url, width=1000, height=600)


@pytest.fixture
def page(context: BrowserContext, server: Server) -> Iterator[Page]:
    page = new_page(context, server.url)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url)
    yield page
    page.close()
    assert errors == []
