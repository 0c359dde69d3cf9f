"""The client asks again while the server fetches archived records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from observatory.client import connection
from observatory.client.connection import Connection, Fetching, ObservatoryError

FETCHING = (503, {"detail": "being fetched: 1 of 2 records", "fetching": {"done": 1, "rows": 2}})
AWAY = (503, {"detail": "The archive is away."})


class Server(ThreadingHTTPServer):
    """Gives the next answer to each request, the last one again and again."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[tuple[int, dict[str, object]]] = []
        self.requests = 0


class _Answering(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        status, answer = self.server.answers[0]
        if len(self.server.answers) > 1:
            del self.server.answers[0]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(connection, "PAUSE", 0.0)
    server = Server()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(server: Server) -> Connection:
    return Connection(f"http://127.0.0.1:{server.server_port}", "token")


def test_a_request_is_sent_again_until_the_records_are_there(server: Server, client: Connection) -> None:
    server.answers = [FETCHING, FETCHING, (200, {"items": [1]})]
    assert client.json("/clusters/1/logs") == {"items": [1]}
    assert server.requests == 3


def test_other_refusals_are_raised_at_once(server: Server, client: Connection) -> None:
    server.answers = [AWAY]
    with pytest.raises(ObservatoryError, match=r"503: The archive is away\.") as refused:
        client.json("/clusters/1/logs")
    assert not isinstance(refused.value, Fetching)
    assert server.requests == 1


def test_it_gives_up_at_last(server: Server, client: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LONGEST_FETCH", -1.0)
    server.answers = [FETCHING]
    with pytest.raises(Fetching, match="1 of 2 records"):
        client.json("/clusters/1/logs")
