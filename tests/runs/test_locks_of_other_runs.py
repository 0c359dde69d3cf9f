"""Tasks of one run wait for a lock while another run on the cluster has tasks that don't."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster, Lock

import observatory.agent
from observatory.runs.models import Run, RunFindings
from observatory.why.findings.of_runs import look_at
from tests.agent.fake_server import TOKEN, FakeServer, fake_server
from tests.runs.recorded_runs import CLUSTER, stored_runs
from tests.support.projects import World

pytestmark = pytest.mark.django_db(transaction=True)


def functions() -> tuple[Callable[..., Any], ...]:
    """By value: workers can't import a module that needs Django."""

    def write(number: int) -> int:
        with Lock("the database"):
            time.sleep(0.3)
        return number

    def count(number: int) -> int:
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass
        return number

    return write, count


@pytest.fixture(scope="module")
def recorded() -> FakeServer:
    write, count = functions()
    with fake_server() as received:
        with (
            LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address="127.0.0.1:0") as made,
            DaskClient(made) as writer,
            DaskClient(made) as counter,
        ):
            settings = {"url": received.url, "token": TOKEN, "name": CLUSTER, "flush_interval": "0.5s"}
            observatory.agent.register(writer, **settings, sample_interval="0.2s")
            with observatory.run("writes", client=writer):
                written = writer.map(write, range(24))
                with observatory.run("counts", client=counter):
                    counter.gather(counter.map(count, range(24)))
                writer.gather(written)
        return received


@pytest.fixture
def kinds(transactional_db: None, world: World, recorded: FakeServer) -> Iterator[dict[str, list[str]]]:
    """The findings of each run."""
    with stored_runs(recorded, world.alpha) as runs:
        yield {name: _kinds(run) for name, run in runs.items()}


def _kinds(run: Run) -> list[str]:
    look_at(run)
    return [found["kind"] for found in RunFindings.objects.get(run=run).all]


def test_a_lock_is_a_finding_of_the_run_whose_tasks_wait_for_it_only(kinds: dict[str, list[str]]) -> None:
    assert "serialized" in kinds["writes"]
    assert "serialized" not in kinds["counts"]
