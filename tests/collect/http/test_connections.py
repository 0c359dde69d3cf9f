"""Requests over plain HTTP: what is sent, how connections are kept, and answers that are odd or hostile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from observatory.collect.credentials.credentials import Credentials
from observatory.collect.http.connections import Connections
from observatory.collect.http.fetch import Failure, FetchError, HttpClient
from observatory.collect.management.commands.collect import Command

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
"""The collector runs in uvloop, commands and web processes in others."""
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    def run_in(work: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(work)

    return run_in


class Peer:
    """A server that answers what the test says, and what it was sent."""

    def __init__(self, answer: Callable[[int], list[bytes]]) -> None:
        """`answer`: the pieces that are sent for the request of that number; an empty one closes."""
        self.answer = answer
        self.requests: list[bytes] = []
        self.connections = self.ended = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                for piece in self.answer(len(self.requests)):
                    if not piece:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.01)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended += 1
            writer.close()


@asynccontextmanager
async def serving(answer: Callable[[int], list[bytes]]) -> AsyncIterator[tuple[Peer, HttpClient]]:
    peer = Peer(answer)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    async with HttpClient() as client:
        peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield peer, client
    server.close()


def whole(body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return OK + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


Run = Callable[[Awaitable[None]], None]


def test_requests_to_a_worker_share_a_connection_and_have_one_head(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"up %d" % number)]) as (peer, client):
            bodies = [(await client.get(f"{peer.url}/metrics?a=1", 100)).body for _ in range(3)]
            assert bodies == [b"up 1", b"up 2", b"up 3"]
            assert peer.connections == 1
            assert set(peer.requests) == {
                f"GET /metrics?a=1 HTTP/1.1\r\nHost: {peer.url[7:]}\r\nUser-Agent: dask-observatory\r\n"
                "Accept: */*\r\nAccept-Encoding: identity\r\n\r\n".encode()
            }

    run(work())


def test_each_request_to_a_scheduler_has_a_connection_of_its_own_which_ends_with_it(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"{}")]) as (peer, client):
            scheduler = client.with_credentials(Credentials(token="secret")).for_scheduler(peer.url)
            for _ in range(3):
                await scheduler.get_json(f"{peer.url}/json/counts.json", 100)
            assert peer.connections == 3
            assert all(b"Connection: close\r\n" in request for request in peer.requests)
            assert all(b"Authorization: Bearer secret\r\n" in request for request in peer.requests)
            while peer.ended < 3:
                await asyncio.sleep(0.01)

    run(work())


def test_a_connection_that_the_peer_closed_while_it_was_idle_is_replaced(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"up"), b""]) as (peer, client):
            for _ in range(3):
                assert (await client.get(peer.url, 100)).body == b"up"
            assert peer.connections == 3

    run(work())


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ([OK + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nup\r\n", b"2\r\n 1\r\n0\r\n\r\n"], b"up 1"),
        ([OK + b"\r\n", b"up ", b"1", b""], b"up 1"),
        ([b"HTTP/1.0 200 OK\r\n\r\nup 1", b""], b"up 1"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", whole(b"up 1")], b"up 1"),
        ([piece.to_bytes() for piece in whole(b"up 1")], b"up 1"),
        ([whole(b"")], b""),
    ],
    ids=["chunks", "until the end", "HTTP/1.0", "after another", "byte by byte", "empty"],
)
def test_whatever_way_an_answer_is_divided_it_is_read_whole(
    run: Run, pieces: list[bytes], body: bytes
) -> None:
    async def work() -> None:
        async with serving(lambda number: pieces) as (peer, client):
            for _ in range(2):
                answer = await client.get(peer.url, 100)
                assert answer.body == body
                assert answer.received >= answer.sent

    run(work())


@pytest.mark.parametrize(
    ("pieces", "message", "failure"),
    [
        ([b""], "closed the connection", Failure.REFUSED),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "not valid HTTP", Failure.ANSWER),
        ([OK + b"Content-Length: 9\r\n\r\nup", b""], "not valid HTTP", Failure.ANSWER),
        ([OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nup", b""], "not valid HTTP", Failure.ANSWER),
        ([OK + b"X: " + b"x" * 2**17], "not valid HTTP", Failure.ANSWER),
        ([OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 2**17], "longer than", Failure.ANSWER),
        (
            [OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 2**17],
            "longer than",
            Failure.ANSWER,
        ),
        ([whole(b"x" * 200)], "longer than", Failure.ANSWER),
        ([b"HTTP/1.1 101 X\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n"], "not valid HTTP", Failure.ANSWER),
        ([b"HTTP/1.1 302 X\r\nLocation: /b\r\n\r\n", b""], "redirect to '/b'", Failure.ANSWER),
        ([b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"], "status 500", Failure.ANSWER),
        ([whole(b"x", b"Content-Encoding: gzip")], "compressed", Failure.ANSWER),
    ],
)
def test_an_answer_that_is_not_as_it_should_be_fails_and_its_connection_is_not_used_again(
    run: Run, pieces: list[bytes], message: str, failure: Failure
) -> None:
    async def work() -> None:
        async with serving(lambda number: pieces) as (peer, client):
            with pytest.raises(FetchError, match=message) as error:
                await client.get(peer.url, 100)
            assert error.value.failure is failure
            peer.answer = lambda number: [whole(b"up")]
            assert (await client.get(peer.url, 100)).body == b"up"

    run(work())


def test_what_a_peer_sends_unasked_is_no_answer_to_the_next_request(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"%d" % number) + whole(b"forged")]) as (peer, client):
            assert [(await client.get(peer.url, 100)).body for _ in range(2)] == [b"1", b"2"]
        async with serving(lambda number: [whole(b"%d" % number), whole(b"forged")]) as (peer, client):
            assert (await client.get(peer.url, 100)).body == b"1"
            await asyncio.sleep(0.05)
            assert (await client.get(peer.url, 100)).body == b"2"

    run(work())


def test_of_a_long_answer_that_is_cut_the_beginning_is_returned(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"x" * 50 + b"y" * 1000)]) as (peer, client):
            answer = await client.get(peer.url, 50, is_cut=True)
            assert answer.body == b"x" * 50

    run(work())


def test_a_request_that_nobody_waits_for_closes_its_connection(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [OK]) as (peer, client):
            with pytest.raises(FetchError, match=r"did not answer within 0\.1 s"):
                await client.get(peer.url, 100, timeout=0.1)
            request = asyncio.create_task(client.get(peer.url, 100))
            while len(peer.requests) < 2:
                await asyncio.sleep(0.01)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            while peer.ended < 2:
                await asyncio.sleep(0.01)

    run(work())


def test_what_is_answered_while_this_process_has_no_time_is_not_thrown_away(run: Run) -> None:
    """Of a thousand clusters that are asked at once each would be asked again and again."""

    def answer(number: int) -> list[bytes]:
        time.sleep(0.5)  # the event loop, which is the client's too
        return [whole(b"up")]

    async def work() -> None:
        async with serving(answer) as (peer, client):
            assert (await client.get(peer.url, 100, timeout=0.2)).body == b"up"
            assert len(peer.requests) == 1

    run(work())


def test_a_peer_that_does_not_answer_is_waited_for_until_the_time_limit(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: []) as (peer, client):
            with pytest.raises(FetchError) as found:
                await client.get(peer.url, 100, timeout=0.2)
            assert found.value.failure is Failure.TIMEOUT

    run(work())


def test_connections_that_nobody_uses_any_more_are_closed(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"up")]) as (peer, client):
            client.connections = Connections(keep_alive=0.1, connect_timeout=4.0)
            await asyncio.gather(*(client.get(peer.url, 100) for _ in range(3)))
            assert (peer.connections, peer.ended) == (3, 0)
            while peer.ended < 3:
                await asyncio.sleep(0.01)
            assert (await client.get(peer.url, 100)).body == b"up"
            client.connections.close()

    run(work())


def test_a_header_with_a_line_break_is_not_sent(run: Run) -> None:
    async def work() -> None:
        async with serving(lambda number: [whole(b"up")]) as (peer, client):
            client.headers = {"X-Key": "a\r\nX-Other: b"}
            with pytest.raises(FetchError):
                await client.get(peer.url, 100)
            assert not peer.requests

    run(work())


def test_a_host_name_is_looked_up_once_for_many_connections(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def resolve(_: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        asked.append(host)
        return [{"host": "127.0.0.1", "port": port}]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)

    async def work() -> None:
        async with serving(lambda number: [whole(b"up")]) as (peer, client):
            named = peer.url.replace("127.0.0.1", "dask.example")
            with pytest.raises(FetchError, match="cannot be resolved"):
                await client.get(named, 100)
            client.trust(named)
            for _ in range(3):
                assert (await client.for_scheduler(named).get(named, 100)).body == b"up"
            assert asked == ["dask.example", "dask.example"]
            assert f"Host: {named[7:]}\r\n".encode() in peer.requests[0]

    run(work())


def test_a_collector_runs_in_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    loops: list[object] = []

    async def collect() -> None:
        loops.append(asyncio.get_running_loop())

    monkeypatch.setattr("observatory.collect.management.commands.collect.collect", collect)
    monkeypatch.setattr("observatory.collect.management.commands.collect.prepare_for_hours", lambda: None)
    Command().handle()
    assert isinstance(loops[0], uvloop.Loop)
