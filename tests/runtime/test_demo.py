"""The demo's cluster shows spilling, failures, a lost worker, contention."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client
from distributed.scheduler import KilledWorker
from django.core.management import call_command

from observatory.alerts.models import Rule
from observatory.alerts.rules.condition_rows import condition_of
from observatory.clusters.models import Target
from observatory.comparison.change_points import FEWEST
from observatory.runtime.demo import __main__ as program
from observatory.runtime.demo import work
from observatory.runtime.demo.cluster import WORKERS, DemoCluster
from observatory.runtime.management.commands.watch_demo import FAILURES
from tests.runtime.machine import alive, eventually


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoCluster]:
    before = psutil.Process().children(recursive=True)
    with DemoCluster(tmp_path_factory.mktemp("demo")) as cluster:
        yield cluster
    left = [process for process in alive(psutil.Process().children(recursive=True)) if process not in before]
    # the database's processes come and go with its connections
    assert [process for process in left if process.name() != "postgres"] == []


@pytest.fixture(scope="module")
def client(cluster: DemoCluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:
        body: bytes = response.read()
        return body


def _counts(cluster: DemoCluster) -> dict[str, Any]:
    counts: dict[str, Any] = json.loads(_get(f"{cluster.http_address}/json/counts.json"))
    return counts


def test_contention_for_the_gil_is_measured(cluster: DemoCluster, client: Client) -> None:
    work.hog_the_gil(client, tasks=30)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    contention = 0.0
    for worker in workers:
        page = _get(f"http://127.0.0.1:{worker['services']['dashboard']}/metrics").decode()
        [line] = [
            line for line in page.splitlines() if line.startswith("dask_worker_gil_contention_seconds_total ")
        ]
        contention += float(line.split()[1])
    assert contention > 0.5
    assert "dask_scheduler_gil_contention_seconds_total" in _get(f"{cluster.http_address}/metrics").decode()


def test_memory_that_grows_is_spilled(cluster: DemoCluster, client: Client) -> None:
    held = client.map(work.make_block, range(60), pure=False)

    def spilled() -> int:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(int(worker["metrics"]["spilled_bytes"]["disk"]) for worker in workers)

    eventually(lambda: spilled() > 50_000_000, "50 MB are on disk")
    del held


def test_some_tasks_fail(cluster: DemoCluster, client: Client) -> None:
    futures = client.map(work.fail_sometimes, range(14), pure=False)
    work.wait(futures)
    assert _counts(cluster)["erred"] == 2


def test_the_demo_of_compose_works_on_a_cluster_until_that_is_gone(
    cluster: DemoCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []

    def one_pass(client: Client) -> None:
        passes.append(client.submit(work.load_part, 7).result(60))
        if len(passes) == 2:
            client.close()

    monkeypatch.setattr(program, "one_pass", one_pass)
    program.work_at(cluster.address)
    assert passes == [7, 7]


def test_a_worker_is_killed_and_another_takes_its_place(cluster: DemoCluster, client: Client) -> None:
    before = set(client.scheduler_info(n_workers=-1)["workers"])
    work.lose_a_worker(client)
    eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == WORKERS, "all are there")
    assert set(client.scheduler_info(n_workers=-1)["workers"]) != before


def test_a_task_that_kills_its_workers_fails_for_good(cluster: DemoCluster, client: Client) -> None:
    future = client.submit(work.die_with_worker, pure=False, retries=0)
    assert isinstance(future.exception(timeout=120), KilledWorker)
    eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == WORKERS, "all are there")


def test_workers_that_die_before_a_pass_do_not_end_the_demo(
    cluster: DemoCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "load_part", lambda part: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(work, "demo_runs", lambda: [])
    before = set(client.scheduler_info(n_workers=-1)["workers"])
    work.one_pass(client)

    def others() -> bool:
        workers = set(client.scheduler_info(n_workers=-1)["workers"])
        return len(workers) == WORKERS and not workers & before

    eventually(others, "others are there")


def test_a_pass_has_a_history_of_one_name_that_ends_with_a_slower_release() -> None:
    releases = [run.release for run in work.demo_runs() if run.name == "hourly import"]
    assert len(releases) > FEWEST, "fewer runs do not say what is usual"
    assert len({*releases[:-1]}) == 1
    assert work.RELEASES[releases[-1]] > 2 * work.RELEASES[releases[0]]


@pytest.mark.django_db
def test_the_demo_has_a_target_and_a_rule_however_often_it_starts() -> None:
    for port in (8787, 8788):
        call_command("watch_demo", f"http://127.0.0.1:{port}")
    assert [target.url for target in Target.objects.all()] == ["http://127.0.0.1:8788"]
    [rule] = Rule.objects.filter(name__startswith="Demo")
    assert [condition_of(condition) for condition in rule.conditions.all()] == [FAILURES]


def test_a_worker_that_the_scheduler_lost_is_started_anew(cluster: DemoCluster, client: Client) -> None:
    cluster.programs[1].stop()
    eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == WORKERS - 1, "one is gone")
    cluster.restart_lost_workers(client)
    eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == WORKERS, "it is back")
    names = {worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()}
    assert names == {"demo-0", "demo-1", "demo-2"}


def test_workers_spill_where_they_are_told(cluster: DemoCluster, client: Client, tmp_path: Path) -> None:
    folders = client.run(lambda dask_worker: dask_worker.local_directory).values()
    assert all("/demo" in folder for folder in folders)
