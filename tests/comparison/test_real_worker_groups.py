"""Worker processes of two versions, as their agent tells them, compared within the run."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator

import psycopg
import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster, wait

import observatory.agent
from benchmarks.runs.recording import receiving
from observatory.clusters.models import Cluster
from observatory.comparison.compare_workers import compare_workers, labels_of_run
from observatory.runs.models import Run
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.dimensions import read_dimensions
from tests.comparison.real_runs import Recording
from tests.support.projects import World

VERSIONS = ("2026.10", "2026.11")
TASKS = 40
"""of each version"""


def nanny(version: str) -> dict[str, object]:
    options = {
        "nthreads": 2,
        "resources": {"GPU": 1} if version == VERSIONS[1] else {"CPU": 2, "DISK": 1},
        "env": {"OBSERVATORY_LABELS": f"version={version}, zone = b,host=x,=y,alone"},
        "dashboard_address": None,
    }
    return {"cls": Nanny, "options": options}


@pytest.fixture(scope="module")
def told() -> Recording:
    """What the agent told of a cluster with a worker of each version; the newer one is slower, and fails."""
    recording = Recording()
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": "127.0.0.1:0"}}
    workers = {version: nanny(version) for version in VERSIONS}
    cluster = SpecCluster(workers=workers, scheduler=scheduler)
    with receiving() as (url, bodies), cluster, Client(cluster) as client:
        client.wait_for_workers(len(VERSIONS), timeout=180)
        # some time before the first task: on a loaded machine Dask corrects a worker's clock by too much
        start = time.time()
        observatory.agent.register(client, url=url, token="tests")
        futures = [
            client.submit(
                time.sleep,
                0.09 if version == VERSIONS[1] else 0.03,
                key=f"work-{'ab'[VERSIONS.index(version)]}{number:031x}",
                workers=[version],
                pure=False,
            )
            for version in VERSIONS
            for number in range(TASKS)
        ]
        wait(futures)
        failed = client.map(operator.truediv, range(3), [0] * 3, workers=[VERSIONS[1]], pure=False)
        wait(failed)
        recording.windows.append((start, time.time()))
        del futures, failed
        observatory.agent.unregister(client)
        recording.bodies = bodies
    return recording


@pytest.fixture
def run(told: Recording, transactional_db: None, world: World) -> Iterator[Run]:
    [stored] = told.store(world.ended)
    yield stored
    delete_cluster(world.ended.pk)


def test_labels_and_resources_of_each_worker_are_recorded(run: Run, connection: psycopg.Connection) -> None:
    cluster: Cluster = run.cluster
    tags = {worker["name"]: worker["tags"] for worker in read_dimensions(connection, cluster.pk, []).workers}
    own = {"version", "zone", "resource GPU", "resource CPU", "resource DISK"}
    assert {name: {tag: its[tag] for tag in its if tag in own} for name, its in tags.items()} == {
        "2026.10": {"version": "2026.10", "zone": "b", "resource CPU": "2", "resource DISK": "1"},
        "2026.11": {"version": "2026.11", "zone": "b", "resource GPU": "1"},
    }
    assert "host" not in tags["2026.10"], "what can't be a label is left out"
    differing = {label["name"] for label in labels_of_run(connection, run) if label["differs"]}
    assert differing == {"version", "resource GPU", "resource CPU", "resource DISK"}


def test_the_version_that_is_slower_and_fails_is_told(run: Run, connection: psycopg.Connection) -> None:
    found = compare_workers(connection, run, "version", "2026.11", "2026.10")
    first = found["prefixes"][0]
    assert (first["name"], first["verdict"]) == ("work", "slower")
    assert first["ratio"] > 2
    assert (first["a"]["count"], first["b"]["count"]) == (TASKS, TASKS)
    figures = {each["name"]: (each["a"], each["b"]) for each in found["figures"]}
    assert figures["Errors"] == (3, 0)
    assert figures["Threads"] == (2, 2)
    assert figures["Memory of a worker, mean"][0] > 0
    differ = {(each["kind"], each["name"]) for each in found["differ"]}
    assert {("label", "version"), ("hardware", "resource GPU")} <= differ
