"""A run of a real cluster as its agent reported it: recorded once a session, stored anew for each test."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster
from django.db import connection
from django.utils import timezone

import observatory.agent
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.extents import read_extent
from observatory.store.times import from_seconds
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.support.agent_batches import store_batches
from tests.support.observed_tasks import FORMULA, HOSTILE, work
from tests.support.projects import World
from tests.support.shared_recordings import made_once

__all__ = ["FORMULA", "HOSTILE", "Observed", "agent_server", "observed"]


def _record() -> list[bytes]:
    """The batches of an agent in a cluster that worked for some seconds and was closed."""
    with fake_server() as received:
        workers = {"n_workers": 2, "threads_per_worker": 2, "silence_logs": "CRITICAL"}
        with (
            LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster,
            DaskClient(cluster) as client,
        ):
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name="observed", flush_interval="1s"
            )
            work(client)
        return received.bodies


@pytest.fixture(scope="module")
def agent_server() -> FakeServer:
    """The recording, made once a session, as the server of a test received it."""
    received = FakeServer("")
    for body in made_once("observed", _record):
        received.take(body)
    return received


@dataclass
class Observed:
    """The run as it was told, and as it is stored."""

    received: FakeServer
    cluster: Cluster
    run: Run

    @property
    def scope(self) -> Scope:
        return Scope(self.cluster)


def _store(agent_server: FakeServer, secret: str) -> None:
    for answer in store_batches(agent_server.bodies, secret):
        assert answer["refused"] == 0
    connection.close()


@pytest.fixture
def observed(transactional_db: None, world: World, agent_server: FakeServer) -> Iterator[Observed]:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop runs in this one
        thread.submit(_store, agent_server, secret).result()
    cluster = Cluster.objects.get(name="observed")
    with read_connection() as reader:
        known = read_extent(reader, cluster.pk)
    assert known is not None
    run = Run.objects.create(
        cluster=cluster,
        name="a run",
        origin=Run.Origin.CUT,
        start=from_seconds(known.first),
        stop=from_seconds(known.last + 0.001),
        tasks=known.tasks,
        errors=known.errors,
        counted=timezone.now(),
    )
    yield Observed(agent_server, cluster, run)
    delete_cluster(cluster.pk)
