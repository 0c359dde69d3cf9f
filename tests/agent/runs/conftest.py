"""A client of a real LocalCluster, and a server that receives what its agent sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import observatory
import observatory.agent
from observatory.agent import runs
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


@pytest.fixture
def received() -> Iterator[FakeServer]:
    with fake_server() as received:
        yield received


@pytest.fixture(autouse=True)
def unwarned() -> None:
    runs._warned.clear()


@contextmanager
def cluster(**options: Any) -> Iterator[LocalCluster]:
    usual: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**{**usual, **options}, dashboard_address=None, protocol="tcp") as cluster:
        yield cluster


@pytest.fixture
def client() -> Iterator[Client]:
    with cluster() as made, Client(made) as client:
        yield client


@pytest.fixture
def observed(client: Client, received: FakeServer, tmp_path: Path) -> Client:
    observatory.agent.register(
        client, url=received.url, token=TOKEN, spool_directory=str(tmp_path), flush_interval=0.1
    )
    return client
