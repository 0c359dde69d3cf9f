"""Addresses that are not those of Dask schedulers are refused with the reason."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from observatory.collect.http.fetch import Failure, FetchError, HttpClient
from observatory.collect.scheduler.probe import NO_SCHEDULER, ProbeError, probe, probe_target
from tests.collect.dask_processes import free_port, scheduler

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    """The address of a server that answers every request with `handler`."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(application) as running:
        yield str(running.make_url("")).rstrip("/")


async def refusal(handler: Handler, log: pytest.LogCaptureFixture) -> str:
    """What the log says of an address that is refused; people are always told the same."""
    async with server(handler) as url:
        return await reason(url, log)


async def reason(url: str, log: pytest.LogCaptureFixture) -> str:
    log.clear()
    with log.at_level("INFO"), pytest.raises(ProbeError) as error:
        await probe(url)
    assert str(error.value) == NO_SCHEDULER.format(url=url)
    return "\n".join(log.messages)


def test_a_busy_scheduler_is_identified_too() -> None:
    with scheduler(workers=1) as dask, dask.client() as client:
        assert probe_target(f"{dask.url}/status").scheduler_id.startswith("Scheduler-")
        tasks = client.map(lambda x: time.sleep(0.02), range(500), pure=False)
        time.sleep(1.5)
        busy = probe_target(dask.url)
        assert busy.address == dask.address
        assert [worker.name for worker in busy.workers.values()] == ["w0"]
        client.cancel(tasks)
        ports = [worker["services"]["dashboard"] for worker in client.scheduler_info()["workers"].values()]
        with pytest.raises(ProbeError, match="No Dask scheduler"):
            probe_target(f"http://127.0.0.1:{ports[0]}")


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://", "http://user:secret@host", "http://host?x=1", "host:8787"]
)
async def test_a_malformed_address_is_refused(url: str) -> None:
    with pytest.raises(ProbeError):
        await probe(url)


async def test_an_address_where_nobody_listens_cannot_be_reached(caplog: pytest.LogCaptureFixture) -> None:
    assert "cannot be reached" in await reason(f"http://127.0.0.1:{free_port()}", caplog)


async def test_a_host_without_an_address_cannot_be_resolved(caplog: pytest.LogCaptureFixture) -> None:
    assert "cannot be resolved" in await reason("http://nowhere.invalid:8787", caplog)


async def test_a_server_that_does_not_answer_times_out() -> None:
    async def hang(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with server(hang) as url, HttpClient() as client:
        with pytest.raises(FetchError, match="did not answer") as error:
            await client.get(url, 100, timeout=0.3)
        assert error.value.failure is Failure.TIMEOUT


async def test_a_redirect_is_not_followed_by_a_request_nor_by_the_event_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    followed = []

    async def redirect(request: web.Request) -> web.Response:
        followed.append(request.path)
        raise web.HTTPFound("/elsewhere")

    assert "redirects are not followed" in await refusal(redirect, caplog)
    async with server(redirect) as url, HttpClient() as client:
        with pytest.raises(FetchError, match="redirects are not followed"):
            await client.session.ws_connect(f"{url}/eventstream".replace("http", "ws"))
    assert "/elsewhere" not in followed


def answering(body: str) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=body)

    return answer


async def test_other_json_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    for page in (
        [],
        {},
        {"type": "Scheduler"},
        {"id": 3, "workers": {}},
        {"id": "x", "workers": []},
        None,
        7,
    ):
        assert "not that of a Dask scheduler" in await refusal(answering(json.dumps(page)), caplog)


async def test_the_address_of_a_worker_is_refused_as_such(caplog: pytest.LogCaptureFixture) -> None:
    assert "a Dask worker" in await refusal(answering('{"type": "Worker", "id": 1}'), caplog)


async def test_an_answer_that_is_not_json_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    for body in ("<html>", "[" * 100_000, "1" * 10_000, "NaN"):
        message = await refusal(answering(body), caplog)
        assert "JSON" in message


async def test_reading_stops_at_the_limit_of_a_body() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 2**16)

    async with server(endless) as url, HttpClient() as client:
        with pytest.raises(FetchError, match="longer than 1 MB"):
            await client.get(url, 2**20)


async def test_a_compressed_body_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def bomb(request: web.Request) -> web.Response:
        return web.Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})

    assert "compressed" in await refusal(bomb, caplog)


async def test_a_host_name_of_this_machine_is_resolved_for_targets_only() -> None:
    async with server(answering("{}")) as url, HttpClient() as client:
        named = url.replace("127.0.0.1", "localhost")
        with pytest.raises(FetchError):
            await client.get(named, 100)
        client.trust(named)
        assert (await client.get(named, 100)).body == b"{}"


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "100.100.100.200", "169.254.170.2"],
)
async def test_the_metadata_service_of_a_cloud_is_never_asked(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"http://{host}"
    assert "metadata service" in await reason(url, caplog)
    async with HttpClient() as client:
        client.trust(url)
        with pytest.raises(FetchError, match="metadata service"):
            await client.session.ws_connect(f"ws://{host}/eventstream")


async def test_a_name_of_the_metadata_service_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object) -> list[dict[str, object]]:
        return [
            {"hostname": "named", "host": "169.254.169.254", "port": 80, "family": 2, "proto": 0, "flags": 0}
        ]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    async with HttpClient() as client:
        client.trust("http://named")
        with pytest.raises(OSError, match="loopback or link-local"):
            await client.resolver.resolve("named", 80)
