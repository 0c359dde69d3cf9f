"""A worker is retired by a request before it stops, and nothing that it has is lost."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from json import loads
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from distributed import Client, LocalCluster

import observatory.agent
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

RETIRE_TOKEN = "only-for-retiring-workers"


@pytest.fixture
def client() -> Iterator[Client]:
    workers = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture
def received(client: Client) -> Iterator[FakeServer]:
    with fake_server() as received:
        settings: dict[str, Any] = {"flush_interval": "100ms", "retire_token": RETIRE_TOKEN}
        observatory.agent.register(client, url=received.url, token=TOKEN, **settings)
        yield received
    assert received.refused == 0


def request(client: Client, address: str, token: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    port = client.scheduler_info()["workers"][address]["services"]["dashboard"]
    url = f"http://{urlsplit(address).hostname}:{port}/observatory/retire"
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, None, headers, method=method)) as answer:
            return answer.status, loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, loads(error.read())


def work(folder: Path) -> str:
    """Takes until there is a file `stop` in the folder."""
    (folder / "started").touch()
    while not (folder / "stop").exists():
        time.sleep(0.01)
    return "done"


def status_of(client: Client, address: str) -> str:
    return str(client.scheduler_info()["workers"][address]["status"])


def test_a_retired_worker_has_ended_its_tasks_moved_its_results_and_is_not_lost(
    client: Client, received: FakeServer, tmp_path: Path
) -> None:
    retired, other = sorted(client.scheduler_info()["workers"])
    results = client.scatter(list(range(20)), workers=[retired])
    task = client.submit(work, tmp_path, workers=[retired], allow_other_workers=True)
    eventually((tmp_path / "started").exists)
    status, answer = request(client, retired, "wrong")
    assert (status, answer) == (401, {"error": "The header Authorization must have the retire token."})
    with ThreadPoolExecutor() as threads:
        requests = [threads.submit(request, client, retired, RETIRE_TOKEN, how) for how in ("GET", "POST")]
        eventually(lambda: status_of(client, retired) == "closing_gracefully")
        assert not any(one.done() for one in requests), "its task still runs"
        (tmp_path / "stop").touch()
        given = [one.result() for one in requests]
    assert [status for status, _ in given] == [200, 200]
    assert given[0] == given[1]
    assert given[0][1]["worker"] == retired
    assert given[0][1]["results"] == 20
    held = client.who_has([*results, task])
    assert len(held) == 21
    assert all(other in workers for workers in held.values())
    assert status_of(client, retired) == "closing_gracefully"

    status, answer = request(client, other, RETIRE_TOKEN)
    assert status == 409
    assert "No other worker can take" in answer["error"]
    assert client.submit(work, tmp_path, pure=False).result(timeout=120) == "done"

    [name] = [name for name, worker in client.cluster.workers.items() if worker.worker_address == retired]
    client.cluster.sync(client.cluster.workers[name].close)
    gone = eventually(lambda: [row for row in received.rows["gone"] if row["address"] == retired])
    assert gone[0]["reason"] == "retired"
    assert client.gather(results) == list(range(20))
    assert task.result() == "done"


def test_without_the_token_of_the_setting_there_is_nothing_to_retire(
    client: Client, received: FakeServer
) -> None:
    observatory.agent.unregister(client)
    observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
    status, answer = request(client, min(client.scheduler_info()["workers"]), RETIRE_TOKEN)
    assert (status, answer) == (404, {"error": "The setting observatory.retire-token is not set."})
