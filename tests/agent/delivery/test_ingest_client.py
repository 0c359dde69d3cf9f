"""One batch over HTTP: what became of it, whatever the other end does."""

from __future__ import annotations

import http.server
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from observatory.agent.delivery.ingest_client import IngestClient, Outcome
from observatory.wire.batches import decode_batch
from tests.agent.batches import configuration, head, real, sample, transition
from tests.agent.fake_server import FakeServer, Handler
from tests.agent.faulty_server import FaultyServer, faulty_server


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty_server() as server:
        yield server


@pytest.fixture
def post(server: FaultyServer, tmp_path: Path) -> Iterator[IngestClient]:
    post = IngestClient(configuration(server.url, tmp_path))
    yield post
    post.close()


def body(sequence: int, rows: int = 3) -> bytes:
    return real(sequence, {"transition": [transition(number) for number in range(rows)]}).body()


def test_a_stored_batch_is_acknowledged_and_the_connection_kept(
    server: FaultyServer, post: IngestClient
) -> None:
    for number in (1, 2, 3):
        assert post.send(body(number)) is Outcome.ACKNOWLEDGED
    assert len(server.received.rows["transition"]) == 9
    assert len(server.connections) == 1


def test_observatory_reads_batches_whose_parts_are_compressed_one_by_one() -> None:
    pytest.importorskip("django")
    from django.test import RequestFactory

    from observatory.collect.agents.body import read_body

    rows = {"sample": [sample(1)], "transition": [transition(1)], "event": [(1.7e9, "restarted", "", "{}")]}
    batch = real(1, rows).with_dropped([(1.7e9, 1.7e9, "log", 5, "spool-full")])
    content = {"content_type": "application/octet-stream", "headers": {"Content-Encoding": "gzip"}}
    found, blocks = decode_batch(read_body(RequestFactory().post("/", batch.body(), **content)).data)
    assert found == head(1)
    assert {kind: block.rows for kind, block in blocks.items()} == dict.fromkeys([*rows, "dropped"], 1)


def test_a_kept_connection_that_the_server_closed_is_opened_again_at_once(
    server: FaultyServer, post: IngestClient
) -> None:
    server.behaviours = ["hanging-up", "well"]
    assert post.send(body(1)) is Outcome.ACKNOWLEDGED
    assert post.send(body(2)) is Outcome.ACKNOWLEDGED
    assert [head.sequence for head in server.received.heads] == [1, 2]
    assert len(server.connections) == 2


@pytest.mark.parametrize(
    ("behaviour", "outcome", "said"),
    [
        ("failing", Outcome.RETRY, "status 500"),
        ("busy", Outcome.RETRY, "status 429"),
        ("redirecting", Outcome.RETRY, "status 307"),
        ("somebody-else", Outcome.RETRY, "is not Observatory"),
        ("endless", Outcome.RETRY, "is not Observatory"),
        ("nested", Outcome.RETRY, "is not Observatory"),
        ("continuing", Outcome.RETRY, "more than 10 times 100 Continue"),
        ("cutting-requests", Outcome.RETRY, ""),
        ("cutting-answers", Outcome.RETRY, "IncompleteRead"),
        ("forbidding", Outcome.FORBIDDEN, "the token was refused"),
        ("refusing", Outcome.REFUSED, "the head is wrong"),
    ],
)
def test_a_failure_is_described_and_the_next_batch_is_sent(
    server: FaultyServer, post: IngestClient, behaviour: str, outcome: Outcome, said: str
) -> None:
    server.behaviours = [behaviour]
    assert post.send(body(1)) is outcome
    assert said in post.error
    assert len(post.error) < 500
    assert server.asked == 1
    assert post.send(body(2)) is Outcome.ACKNOWLEDGED


def test_the_client_waits_as_long_as_the_server_says(server: FaultyServer, post: IngestClient) -> None:
    server.behaviours = ["busy"]
    post.send(body(1))
    assert post.wait == 7.0
    post.send(body(1))
    assert post.wait == 0.0


def test_an_answer_before_the_whole_body_was_read_is_used(server: FaultyServer, post: IngestClient) -> None:
    server.behaviour = "too-large-early"
    more_than_sockets_hold = os.urandom(30_000_000)
    assert post.send(more_than_sockets_hold) is Outcome.REFUSED
    assert "too large" in post.error


def test_a_refused_connection_is_described_without_an_exception(
    server: FaultyServer, post: IngestClient
) -> None:
    server.stop()
    assert post.send(body(1)) is Outcome.RETRY
    assert "ConnectionRefusedError" in post.error


def test_a_host_that_drops_packets_times_out_after_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.agent.delivery.ingest_client.CONNECT_TIMEOUT", 0.3)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        began = time.monotonic()
        assert (
            IngestClient(configuration(f"http://127.0.0.1:{address[1]}", tmp_path)).send(b"x")
            is Outcome.RETRY
        )
        assert time.monotonic() - began < 30  # the system itself gives up after two minutes
        for one in waiting:
            one.close()


def test_a_server_that_does_not_answer_times_out(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.agent.delivery.ingest_client.TIMEOUT", 0.2)
    server.behaviour, server.delay = "slow", 1.0
    post = IngestClient(configuration(server.url, tmp_path))
    assert post.send(body(1)) is Outcome.RETRY
    assert "timed out" in post.error


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", "certificate.pem"]
    subprocess.run(["openssl", "req", *made, *named], cwd=folder, check=True, capture_output=True)
    return folder / "certificate.pem"


@pytest.fixture
def secure(certificate: Path) -> Iterator[FakeServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    received = FakeServer(f"https://localhost:{server.server_address[1]}")
    server.RequestHandlerClass = type("Bound", (Handler,), {"receiving": received})
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield received
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("verify", "outcome"), [(True, Outcome.RETRY), (False, Outcome.ACKNOWLEDGED)])
def test_an_untrusted_certificate_is_refused_unless_verification_is_off(
    secure: FakeServer, tmp_path: Path, verify: Any, outcome: Outcome
) -> None:
    post = IngestClient(configuration(secure.url, tmp_path, verify=verify))
    assert post.send(body(1)) is outcome
    assert ("CERTIFICATE_VERIFY_FAILED" in post.error) == verify
    post.close()


def test_a_trusted_certificate_is_valid_for_its_host_only(
    secure: FakeServer, certificate: Path, tmp_path: Path
) -> None:
    post = IngestClient(configuration(secure.url, tmp_path, verify=str(certificate)))
    assert post.send(body(1)) is Outcome.ACKNOWLEDGED
    post.close()
    post = IngestClient(
        configuration(secure.url.replace("localhost", "127.0.0.1"), tmp_path, verify=str(certificate))
    )
    assert post.send(body(1)) is Outcome.RETRY
    post.close()


def test_whether_a_token_is_of_the_same_project_is_unknown_until_the_server_answers(
    server: FaultyServer, post: IngestClient
) -> None:
    ours, foreign = "0" * 16, "f" * 16
    server.received.digests = {ours}
    server.stop()
    assert post.is_of_same_project(ours) is None
    server.start()
    assert post.is_of_same_project(ours) is True
    assert post.is_of_same_project(foreign) is False
    assert post.send(body(1)) is Outcome.ACKNOWLEDGED
