from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import connections

from observatory.collect.worker_pages.tickets import make_ticket
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import WorkerGone, WorkerSeen
from tests.collect.worker_pages.fake_worker import FakeWorker, fake_worker
from tests.support.projects import STARTED, World, world

__all__ = ["world"]

SEEN = STARTED.timestamp() + 86_400


def store_worker(cluster: int, port: int | None, host: str = "127.0.0.1", number: int = 1) -> int:
    """The id of a worker whose HTTP server has a port."""
    address = f"tcp://{host}:{4000 + number}"
    detail = {} if port is None else {"dashboard": port}
    with Writer() as writer:
        seen = WorkerSeen(address, f"w{number}", host, 2, 0, SEEN, detail=detail)
        writer.write(Batch.of(cluster, [seen], [], [], [], []))
    with connect() as connection:
        query = "SELECT id FROM worker WHERE cluster_id = %s AND address = %s"
        row = connection.execute(query, [cluster, address]).fetchone()
    assert row is not None
    return int(row[0])


def end_worker(cluster: int, number: int = 1) -> None:
    with Writer() as writer:
        gone = WorkerGone(f"tcp://127.0.0.1:{4000 + number}", SEEN + 60, "lost")
        writer.write(Batch.of(cluster, [], [], [], [], [gone]))


@dataclass
class Site:
    """A world whose target is on this machine, with a living worker that is a fake."""

    world: World
    worker: FakeWorker
    id: int
    sessions: dict[str, str]
    """keys by role"""

    def ticket(self, role: str = "viewer", worker: int | None = None, cluster: int | None = None) -> str:
        return make_ticket(self.sessions[role], cluster or self.world.live.pk, worker or self.id, 0)


@pytest.fixture
def fake() -> Iterator[FakeWorker]:
    with fake_worker() as worker:
        worker.page("/status", "<h1>of the worker</h1>")
        yield worker


@pytest.fixture
def site(transactional_db: None, world: World, fake: FakeWorker, settings: Any) -> Iterator[Site]:
    settings.WORKER_PAGES = ["127.0.0.0/8"]
    world.target.url = "http://127.0.0.1:8787"
    world.target.save()
    sessions = {role: world.client(role).session.session_key or "" for role in world.people}
    yield Site(world, fake, store_worker(world.live.pk, fake.port), sessions)
    for cluster in (world.live, world.elsewhere):
        delete_cluster(cluster.pk)


@pytest.fixture
async def close_connections(transactional_db: None) -> AsyncIterator[None]:
    """Closes the connection of the thread that coroutines ask, so that the database can be dropped."""
    yield
    await database_sync_to_async(connections.close_all)()
