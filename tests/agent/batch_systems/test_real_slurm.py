"""Workers in jobs of a real Slurm, started by dask-jobqueue and by srun, tell what their jobs asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_jobqueue import SLURMCluster
from distributed import Client, LocalCluster

import observatory.agent
from observatory.wire.workers.batch_jobs import BatchJob, read_batch_job
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.support.slurm import Slurm, slurm

MIB = 2**20
WORKER = f"{sys.executable} -m distributed.cli.dask_worker --no-dashboard --nthreads 1"


@pytest.fixture(scope="module")
def batch_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with slurm(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture
def commands(batch_system: Slurm, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """Slurm, as commands of this process find it."""
    for name, value in batch_system.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(batch_system.folder)
    return batch_system


@pytest.fixture
def client() -> Iterator[Client]:
    """Of a cluster whose own worker is outside of any job."""
    workers = {"n_workers": 1, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with (
        LocalCluster(**workers, dashboard_address="127.0.0.1:0", host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        yield client


def register(client: Client, received: FakeServer) -> None:
    observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")


def jobs(received: FakeServer) -> dict[str, BatchJob]:
    """What is known at last of the job of each worker in one, by the worker's name."""
    found = {}
    for row in list(received.rows["worker"]):
        if (job := read_batch_job(row["detail"])) is not None:
            found[row["name"]] = job
    return found


def with_waits(received: FakeServer, number: int) -> dict[str, BatchJob]:
    """The jobs when `number` workers have reported how long theirs waited."""

    def known() -> dict[str, BatchJob]:
        found = {name: job for name, job in jobs(received).items() if job.waited is not None}
        return found if len(found) >= number else {}

    found: dict[str, BatchJob] = eventually(known, seconds=300)
    return found


def test_processes_of_a_job_of_dask_jobqueue_tell_the_same_job(commands: Slurm, tmp_path: Path) -> None:
    cluster = SLURMCluster(
        **{"cores": 2, "processes": 2, "memory": "2GiB", "queue": "short", "walltime": "00:20:00"},
        **{"job_name": "etl", "python": sys.executable, "local_directory": str(tmp_path)},
        scheduler_options={"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"},
    )
    with fake_server() as received, cluster, Client(cluster) as client:
        register(client, received)
        cluster.scale(jobs=2)
        client.wait_for_workers(4, timeout=300)
        asked = with_waits(received, 2)
        found = jobs(received)
        submitted = {str(each) for each in (job.job_id for job in cluster.workers.values())}
    assert {job.id for job in found.values()} == {job.id for job in asked.values()} == submitted
    assert (len(submitted), len(found), len(asked)) == (2, 4, 2), "one of the two workers of a job asks"
    for job in found.values():
        assert (job.system, job.site) == ("slurm", commands.cluster)
        assert (job.name, job.queue) == ("etl", "short")
        assert (job.cores, job.memory, job.option, job.nodes) == (2, 2_048 * MIB, "--mem", 1)
    for job in asked.values():
        assert job.time_limit == 1_200
        assert job.started is not None
        assert job.waited is not None
        assert 0 <= job.waited < 300
    names = {name.rpartition("-")[0] for name in found}
    assert all(len({found[name].id for name in found if name.startswith(f"{each}-")}) == 1 for each in names)


def test_each_kind_of_request_is_told_as_it_was_made(commands: Slurm, client: Client) -> None:
    with fake_server() as received:
        register(client, received)
        script = f"{WORKER} {client.scheduler.address} --name $NAMED-$SLURM_ARRAY_TASK_ID"
        commands.submit(script, "--export=ALL,NAMED=cpus", "-c2", "--mem-per-cpu=200", "--array=1-2", "-t10")
        commands.submit(f"srun {script}", "--export=ALL,NAMED=step", "--mem=300", "-t10")
        found = with_waits(received, 3)
        assert client.scheduler_info()["workers"].keys() >= {
            row["address"] for row in received.rows["worker"]
        }
    assert {name.rstrip("-") for name in found} == {"cpus-1", "cpus-2", "step"}
    array = found["cpus-1"].array
    for index in (1, 2):
        job = found[f"cpus-{index}"]
        assert (job.id, job.array) == (f"{array}_{index}", array)
        assert (job.cores, job.memory, job.option) == (2, 400 * MIB, "--mem-per-cpu")
    assert (found["step-"].memory, found["step-"].option) == (300 * MIB, "--mem")
    assert found["step-"].id != array


def test_without_an_amount_none_is_told_and_a_requeued_job_says_so(commands: Slurm, client: Client) -> None:
    with fake_server() as received:
        register(client, received)
        script = f"exec {WORKER} {client.scheduler.address} --name again-$SLURM_RESTART_COUNT"
        id = commands.submit(script, "--requeue", "-t10")
        first = with_waits(received, 1)["again-"]
        commands.run("scontrol", "requeue", id)
        second = eventually(lambda: with_waits(received, 2).get("again-1"), seconds=300)
        commands.run("scancel", id)
    assert (first.id, first.restarts, first.memory, first.option) == (id, 0, None, "")
    assert (second.id, second.restarts) == (id, 1)
    assert first.started is not None
    assert second.started is not None
    assert second.started > first.started


def test_without_permission_to_ask_the_wait_is_unknown(commands: Slurm, client: Client) -> None:
    with fake_server() as received:
        settings: dict[str, Any] = {"flush_interval": "100ms", "ask_batch_system": False}
        observatory.agent.register(client, url=received.url, token=TOKEN, **settings)
        commands.submit(f"exec {WORKER} {client.scheduler.address} --name quiet", "--mem=300", "-t10")
        job = eventually(lambda: jobs(received).get("quiet"), seconds=300)
        client.wait_for_workers(2, timeout=300)
        threads = client.run(
            lambda: [thread.name for thread in sys.modules["threading"].enumerate()],  # pickled by value
            workers=[name_of(client, "quiet")],
        )
    assert (job.memory, job.waited) == (300 * MIB, None)
    assert all("observatory-batch-queue" not in names for names in threads.values())


def name_of(client: Client, name: str) -> str:
    workers = client.scheduler_info()["workers"]
    [address] = [address for address, worker in workers.items() if worker["name"] == name]
    return str(address)
