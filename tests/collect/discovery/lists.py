"""Servers of the test's process that answer with lists of clusters, and a discovery that asks them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from observatory.clusters.models import Discovery, Project
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal
from observatory.collect.discovery.applying import apply
from observatory.collect.discovery.asking import Answer, ask_all

Respond = Callable[[str, dict[str, str]], Any]
"""The document for a path and a query; an int is the status of a refusal, bytes are sent as they are."""


@dataclass
class ListServer:
    url: str
    respond: Respond
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Path with query, and headers, of each request."""


@contextmanager
def serving(respond: Respond) -> Iterator[ListServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            running.requests.append((self.path, dict(self.headers)))
            document = running.respond(parts.path, dict(parse_qsl(parts.query)))
            status = document if isinstance(document, int) else 200
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/secret")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = ListServer(f"http://127.0.0.1:{server.server_port}", respond)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()


def make_discovery(
    kind: str, address: str, credentials: Credentials | None = None, **fields: Any
) -> Discovery:
    project, _ = Project.objects.get_or_create(name="Tests", slug="tests")
    secret = seal(credentials or Credentials())
    known = {"name": kind, "kind": kind, "address": address, "secret": secret, **fields}
    return Discovery.objects.create(project=project, **known)


def answer_of(discovery: Discovery) -> Answer:
    [(_, answer)] = ask_all([discovery])
    return answer


def look(discovery: Discovery) -> list[tuple[str, str]]:
    """Asks and applies the answer, as Celery does. Returns names and addresses of the discovery's targets."""
    apply(discovery, answer_of(discovery))
    discovery.refresh_from_db()
    return list(discovery.targets.order_by("name").values_list("name", "url"))
