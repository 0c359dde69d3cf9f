"""A run whose workers dask-jobqueue started in jobs of a real Slurm: its card, usage and bundle."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_jobqueue import SLURMCluster
from distributed import Client
from django.db import connection

import observatory.agent
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.runs.usage.counting import count_clusters
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries.extents import read_extent
from observatory.store.times import from_seconds
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.exchange.files import export
from tests.support.agent_batches import store_batches
from tests.support.projects import World
from tests.support.slurm import slurm

pytestmark = pytest.mark.django_db(transaction=True)
GIB, MIB = 2**30, 2**20
SECONDS = 8.0
"""that each of four tasks computes, with DATA bytes"""
DATA = 300 * MIB


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> FakeServer:
    """Two jobs of two processes each, which asked for 3 GiB and 4 cores."""
    folder = tmp_path_factory.mktemp("slurm")
    with slurm(folder) as found, fake_server() as received, pytest.MonkeyPatch.context() as patch:
        for name, value in found.variables.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        cluster = SLURMCluster(
            **{"cores": 4, "processes": 2, "memory": "3GiB", "queue": "short", "walltime": "00:20:00"},
            **{"job_name": "etl", "python": sys.executable, "local_directory": str(folder)},
            scheduler_options={"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"},
        )
        with cluster, Client(cluster) as client:
            observatory.agent.register(
                client, url=received.url, token=TOKEN, name="in slurm", flush_interval="1s"
            )
            cluster.scale(jobs=2)
            client.wait_for_workers(4, timeout=300)
            addresses = list(client.scheduler_info(n_workers=-1)["workers"])
            computing = [client.submit(compute(), at, pure=False, workers=[at]) for at in addresses]
            client.gather(computing)
            eventually(lambda: len(waits(received)) == 2, seconds=300)  # one of each job
    return received


def compute() -> Any:
    """A function that is pickled by value, since workers don't have this module."""
    seconds, nbytes = SECONDS, DATA

    def work(of: str) -> int:
        data, until = bytearray(nbytes), time.monotonic() + seconds
        for at in range(0, len(data), 4096):
            data[at] = 1
        while time.monotonic() < until:
            sum(range(10_000))
        return len(data)

    return work


def waits(received: FakeServer) -> set[str]:
    """The workers that asked how long their jobs waited."""
    details = {
        row["address"]: row["detail"] for row in list(received.rows["worker"]) if "batch_job" in row["detail"]
    }
    return {address for address, detail in details.items() if "waited" in detail["batch_job"]}


@pytest.fixture
def run(received: FakeServer, world: World) -> Iterator[Run]:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    for answer in store_batches(received.bodies, secret):
        assert answer["refused"] == 0
    connection.close()
    cluster = Cluster.objects.get(name="in slurm")
    with read_connection() as reader:
        known = read_extent(reader, cluster.pk)
    assert known is not None
    run = Run.objects.create(
        cluster=cluster,
        name="etl",
        origin=Run.Origin.CUT,
        start=from_seconds(known.first),
        stop=from_seconds(known.last + 0.001),
    )
    refresh_figures(run)
    yield run
    delete_cluster(cluster.pk)


def card_of(world: World, run: Run, role: str = "viewer") -> Any:
    return world.client(role).get(f"/api/v1/runs/{run.pk}/card").json()


def test_the_card_has_both_jobs_with_what_they_asked_for_and_used(world: World, run: Run) -> None:
    found = card_of(world, run)["batch_jobs"]
    assert (found["count"], found["workers"]) == (2, 4)
    for job in found["jobs"]:
        assert (job["system"], job["name"], job["queue"], job["workers"]) == ("slurm", "etl", "short", 2)
        assert (job["memory"], job["cores"], job["time_limit"]) == (3 * GIB, 4, 1_200)
        assert 2 * DATA < job["peak_memory"] < 3 * GIB, "both processes have their data at the same time"
        assert 0 < job["mean_cores"] <= 4
        assert job["waited"] is not None
    [request] = found["requests"]
    assert (request["jobs"], request["option"], request["waits_known"]) == (2, "--mem", 2)
    assert request["peak_memory"] == max(job["peak_memory"] for job in found["jobs"])
    page = world.client("viewer").get(f"/runs/{run.pk}/").content.decode()
    assert "2 jobs of Slurm" in page


def test_usage_has_what_they_asked_for_and_used(world: World, run: Run) -> None:
    count_clusters()
    day = run.start.date().isoformat()
    total = world.client("viewer").get("/api/v1/usage", {"since": day, "project": "alpha"}).json()["total"]
    assert total["jobs"] == 2
    assert 0 < total["used_core_seconds"] < total["asked_core_seconds"]
    assert 0 < total["used_memory_seconds"] < total["asked_memory_seconds"]
    held = total["asked_memory_seconds"] / (3 * GIB)
    assert held == pytest.approx(total["asked_core_seconds"] / 4)
    assert held >= 2 * SECONDS


def test_a_bundle_keeps_them(world: World, run: Run, tmp_path: Path) -> None:
    imported = import_file(export(run, tmp_path / "run.zip"), Destination(world.beta), lambda done: None)
    refresh_figures(imported)
    before = card_of(world, run)["batch_jobs"]
    after = card_of(world, imported, "outsider")["batch_jobs"]
    assert {job["id"]: job["peak_memory"] for job in after["jobs"]} == {
        job["id"]: job["peak_memory"] for job in before["jobs"]
    }
    assert after["requests"][0]["memory"] == 3 * GIB
    delete_cluster(imported.cluster_id)
