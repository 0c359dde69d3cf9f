"""A real cluster with the agent, and its records as the server receives them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client, LocalCluster

import observatory.agent
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    workers = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def received(client: Client) -> Iterator[FakeServer]:
    client.wait_for_workers(2, timeout=180)
    with fake_server() as received:
        observatory.agent.register(
            client, url=received.url, token=TOKEN, name="tests", flush_interval="100ms"
        )
        yield received
        if observatory.agent.NAME in client.cluster.scheduler.plugins:
            observatory.agent.unregister(client)
    assert received.refused == 0
