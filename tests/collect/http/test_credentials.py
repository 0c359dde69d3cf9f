"""A real scheduler behind nginx, which lets in only who has a password, token, header or certificate."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from observatory.clusters.models import Target
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.collector import needs_restart
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.watcher import Watcher
from observatory.collect.credentials.credentials import Credentials
from observatory.collect.credentials.storage import seal
from observatory.collect.http.fetch import FetchError, HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.probe import ProbeError, probe
from observatory.collect.workers.scraping import Scraper
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read
from tests.support.certificates import Authority
from tests.support.nginx import KEY, PASSWORD, TOKEN, WAYS, Proxy, behind_nginx


@pytest.fixture(scope="module")
def dask() -> Iterator[Scheduler]:
    with scheduler(workers=1) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(dask: Scheduler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with behind_nginx(dask, tmp_path_factory.mktemp("nginx")) as running:
        yield running


def without_secrets(text: str) -> bool:
    return not any(secret in text for secret in (PASSWORD, TOKEN, KEY, "PRIVATE KEY"))


@pytest.mark.parametrize("way", WAYS)
async def test_a_scheduler_answers_who_has_the_credentials_and_nobody_else(
    proxy: Proxy, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    given = proxy.credentials(way)
    identity = await probe(proxy.url(way), Credentials.of(given))
    assert identity.scheduler_id.startswith("Scheduler-")
    wrong = {name: value if name in {"ca", "username"} else "" for name, value in given.items()}
    for fields in ({}, {**wrong, "token": "another"}):
        with pytest.raises(ProbeError, match="No Dask scheduler answers"):
            await probe(proxy.url(way), Credentials.of(fields))
    assert without_secrets(caplog.text)
    assert without_secrets(repr(Credentials.of(given)))


async def test_a_server_is_trusted_by_the_private_authority_alone(proxy: Proxy) -> None:
    for ca in ("", Authority().pem):
        given = {**proxy.credentials("tls"), "ca": ca}
        async with HttpClient() as client:
            with pytest.raises(FetchError, match="TLS certificate or protocol is not accepted"):
                await client.with_credentials(Credentials.of(given)).get(proxy.url("tls"), 1000)


async def is_recorded(watcher: Watcher) -> None:
    """Waits until everything of a stock cluster arrives: scheduler, worker, and event stream."""
    for metric in ("dask_scheduler_tasks", "dask_worker_threads", "observatory_worker_memory_bytes"):
        await eventually(lambda metric=metric: read("SELECT 1 FROM series WHERE metric = %s", metric))
    await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("way", "workers"), [("tls", "proxy"), ("basic", "http"), ("headers", "direct")])
async def test_a_cluster_behind_a_proxy_is_recorded_whole(
    dask: Scheduler, proxy: Proxy, way: str, workers: str
) -> None:
    secret = seal(Credentials.of(proxy.credentials(way)))
    assert without_secrets(secret)
    async with observed(proxy.url(way), secret=secret, workers=workers) as watcher:
        await is_recorded(watcher)

        def work() -> None:
            with dask.client() as client:
                client.gather(client.map(lambda x: x + 1, range(20), key=f"inc-{way}"))

        await asyncio.to_thread(work)
        await eventually(lambda: read("SELECT 1 FROM span WHERE action = 0 HAVING count(*) = 20"))


@pytest.mark.usefixtures("store")
async def test_a_target_with_wrong_credentials_says_that_nobody_answers_and_shows_none(proxy: Proxy) -> None:
    wrong = seal(Credentials(username="ann", password=TOKEN))
    async with observed(proxy.url("basic"), secret=wrong) as watcher:
        await eventually(lambda: run_in_django_thread(Target.objects.exclude(last_error="").exists))
        assert watcher.polls.error.endswith("no Dask scheduler answers there")


@pytest.mark.usefixtures("store")
async def test_credentials_that_cannot_be_decrypted_are_reported_and_nothing_is_requested(
    proxy: Proxy,
) -> None:
    async with observed(proxy.url("basic"), secret="of another key") as watcher:
        lost = Target.objects.filter(last_error__contains="can't be decrypted")
        await eventually(lambda: run_in_django_thread(lost.exists))
        assert not watcher.polls.answered
        changed = Target(url=watcher.target.url, secret=seal(Credentials(token=TOKEN)))
        assert needs_restart(watcher, changed)


@pytest.mark.parametrize(
    ("workers", "are_sent"), [("direct", False), ("http", False), ("credentials", True), ("proxy", True)]
)
async def test_workers_get_the_credentials_only_where_that_is_set(workers: str, are_sent: bool) -> None:
    requests: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        requests.append(request)
        return web.Response(text="up 1\n", content_type="text/plain")

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server, HttpClient() as client:
        target = Target(url=f"http://127.0.0.1:{server.port}", workers=workers)
        scraper = Scraper(
            target,
            client.with_credentials(Credentials(token=TOKEN)),
            Counters(),
            asyncio.Semaphore(1),
            SchedulerClock(0.0),
            lambda: None,
            asyncio.Event(),
            lambda: True,
            lambda: 1.0,
            lambda: 1.0,
            lambda: asyncio.sleep(0),
            Rest(lambda: None),
        )
        scraper.is_local = True
        assert server.port is not None
        url = scraper._worker_url("127.0.0.1", server.port, "")
        assert url is not None
        await scraper.workers_client.get(url, 1000)
        port = server.port
    [request] = requests
    path = f"/proxy/{port}/127.0.0.1/metrics" if workers == "proxy" else "/metrics"
    assert request.path == path
    assert (request.headers.get("Authorization") == f"Bearer {TOKEN}") is are_sent


async def test_a_scheduler_that_redirects_gets_no_second_request_with_the_credentials() -> None:
    followed: list[str] = []

    async def redirect(request: web.Request) -> web.Response:
        followed.append(request.path)
        raise web.HTTPFound("/elsewhere")

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", redirect)
    async with TestServer(application) as server, HttpClient() as client:
        sender = client.with_credentials(Credentials(token=TOKEN))
        with pytest.raises(FetchError, match="redirects are not followed"):
            await sender.get(f"http://127.0.0.1:{server.port}/metrics", 1000)
        with pytest.raises(FetchError, match="redirects are not followed"):
            await sender.connect(f"ws://127.0.0.1:{server.port}/eventstream", 5)
    assert "/elsewhere" not in followed


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("worker_prefix", ["", "/dask"])
async def test_a_scheduler_with_a_dashboard_prefix_is_recorded(worker_prefix: str) -> None:
    with scheduler(prefix="/dask") as dask:
        dask.start_worker(
            "w0", 1, "--no-nanny", *(["--dashboard-prefix", worker_prefix] * bool(worker_prefix))
        )
        assert (await probe(f"{dask.url}/status")).address == dask.address
        async with observed(dask.url, metrics_interval=0.5) as watcher:
            await is_recorded(watcher)
