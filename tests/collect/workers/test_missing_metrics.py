"""A worker's /metrics that fails for a while is a gap of that worker, recorded once."""

from __future__ import annotations

import asyncio
import math
import time

from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.observation import Observation
from observatory.collect.collector.series_limit import SeriesLimit
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.http.fetch import HttpClient
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Identity, WorkerIdentity
from observatory.collect.workers import scraping
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.collect.observer import eventually

WORKER = "tcp://127.0.0.1:4000"
ANSWERS = {
    True: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\ndask_worker_threads 2\n",
    False: b"HTTP/1.1 500 Error\r\nConnection: close\r\n\r\n",
}


class WorkerEndpoint:
    """A worker's /metrics, which answers while `works`. `asked` counts the requests since that changed."""

    def __init__(self) -> None:
        self.works = True
        self.asked = 0

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
    return [event for event in events if event.kind == "worker-metrics-missing"]


async def test_metrics_of_a_worker_that_could_not_be_read_for_a_while_are_one_gap_an_outage() -> None:
    endpoint = WorkerEndpoint()
    server = await asyncio.start_server(endpoint.answer, "127.0.0.1", 0)
    observation = observation_of(server.sockets[0].getsockname()[1])
    target = Target(url="http://127.0.0.1:1", identity_interval=0.1, metrics_interval=0.1)
    slots = asyncio.Semaphore(1)
    async with server, HttpClient() as client:
        client.trust(target.url)
        scraper = scraping.Scraper(
            *(target, client, Counters(), slots, observation.clock, lambda: observation, lambda: 1.0)
        )
        scraper.is_local = True
        scrapes = asyncio.create_task(scraper._worker(WORKER))
        for outages in range(3):
            await eventually(lambda: endpoint.was_asked(2))
            assert len(missing(observation)) == outages
            endpoint.set(works=False)
            await eventually(lambda: endpoint.was_asked(3))
            assert len(missing(observation)) == outages
            endpoint.set(works=True)
        scrapes.cancel()
    first, second = missing(observation)
    assert {first.worker, second.worker} == {WORKER}
    assert first.detail["first"] == first.time < first.detail["last"] <= second.detail["first"]
