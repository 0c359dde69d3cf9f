"""A /metrics that fails for a while is a gap of that worker or of the scheduler, recorded once."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.http.fetch import HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Identity, WorkerIdentity
from observatory.collect.workers.scraping import Scraper
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.collect.observer import eventually

WORKER = "tcp://127.0.0.1:4000"
ANSWERS = {
    True: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\ndask_worker_threads 2\n",
    False: b"HTTP/1.1 500 Error\r\nConnection: close\r\n\r\n",
}


class Endpoint:
    """A /metrics, which answers while `works`. `asked` counts the requests since that changed."""

    def __init__(self) -> None:
        self.works = True
        self.asked = 0
        self.port = 0

    def set(self, works: bool) -> None:
        self.works, self.asked = works, 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        writer.write(ANSWERS[self.works])
        await writer.drain()
        writer.close()

    async def was_asked(self, times: int) -> bool:
        return self.asked >= times


def observation_of(port: int) -> Observation:
    now = time.time()
    cluster = Cluster(pk=1, scheduler_id="Scheduler-1", started=from_seconds(now - 60))
    outbox = Outbox(Counters())
    outbox.open(1)
    observation = Observation(cluster, outbox, SchedulerClock(), SeriesLimit(1000, []), ErredTaskCount())
    worker = WorkerIdentity(WORKER, "w0", "127.0.0.1", 2, 0, "", "", "", port, now, heartbeat=None)
    observation.membership.update(Identity("Scheduler-1", "", now, 2, {WORKER: worker}), -math.inf, now)
    return observation


def missing(observation: Observation) -> list[Event]:
    events = [event for queued in observation.outbox.batches for event in queued.builder.events]
    return [event for event in events if event.kind.endswith("metrics-missing")]


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    server = await asyncio.start_server(endpoint.answer, "127.0.0.1", 0)
    endpoint.port = server.sockets[0].getsockname()[1]
    async with server:
        yield endpoint


@asynccontextmanager
async def scraped(observation: Observation, port: int) -> AsyncIterator[Scraper]:
    """A scraper of a target at the port."""
    target = Target(url=f"http://127.0.0.1:{port}", identity_interval=0.1, metrics_interval=0.1)
    slots, observing = asyncio.Semaphore(1), asyncio.Event()
    observing.set()
    async with HttpClient() as client:
        client.trust(target.url)
        scraper = Scraper(
            *(
                target,
                client,
                Counters(),
                slots,
                observation.clock,
                lambda: observation,
                observing,
                lambda: True,
                lambda: 1.0,
                lambda: 1.0,
                lambda: asyncio.sleep(0),
                Rest(lambda: None),
            )
        )
        scraper.is_local = True
        yield scraper


async def cause_outages(endpoint: Endpoint, observation: Observation) -> None:
    """Two outages of several scrapes each."""
    for outages in range(3):
        await eventually(lambda: endpoint.was_asked(2))
        assert len(missing(observation)) == outages
        endpoint.set(works=False)
        await eventually(lambda: endpoint.was_asked(3))
        assert len(missing(observation)) == outages
        endpoint.set(works=True)


@pytest.mark.parametrize("worker", [WORKER, ""])
async def test_metrics_that_could_not_be_read_for_a_while_are_one_gap_an_outage(
    endpoint: Endpoint, worker: str
) -> None:
    observation = observation_of(endpoint.port)
    async with scraped(observation, endpoint.port) as scraper:
        scrapes = asyncio.create_task(scraper._worker(worker) if worker else scraper._scheduler())
        await cause_outages(endpoint, observation)
        scrapes.cancel()
    first, second = missing(observation)
    assert {first.kind, second.kind} == {"worker-metrics-missing" if worker else "scheduler-metrics-missing"}
    assert {first.worker, second.worker} == {worker}
    assert first.detail["first"] == first.time < first.detail["last"] <= second.detail["first"]


async def test_a_scheduler_that_did_not_answer_at_all_has_that_one_gap(endpoint: Endpoint) -> None:
    observation = observation_of(endpoint.port)
    async with scraped(observation, endpoint.port) as scraper:
        scrapes = asyncio.create_task(scraper._scheduler())
        await eventually(lambda: endpoint.was_asked(2))
        endpoint.set(works=False)
        await eventually(lambda: endpoint.was_asked(2))
        observation.add_unreachable(time.time())
        endpoint.set(works=True)
        await eventually(lambda: endpoint.was_asked(2))
        assert missing(observation) == []
        endpoint.set(works=False)
        await eventually(lambda: endpoint.was_asked(2))
        endpoint.set(works=True)
        await eventually(lambda: endpoint.was_asked(2))
        scrapes.cancel()
    assert [event.kind for event in missing(observation)] == ["scheduler-metrics-missing"]
