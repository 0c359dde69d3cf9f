"""Two machines, whose processes and servers are killed while a cluster works: nothing is lost or doubled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.chaos import assert_stored_once, observe
from tests.runtime.machines import Machines, two_machines

PAUSE = 2
"""seconds between two kills, in which the cluster works"""
RUNS = "SELECT count(*) FROM runs_run WHERE tasks > 0"
TILES = "SELECT count(*) FROM tile"


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with two_machines(tmp_path) as found:
        yield found


def disturb(machines: Machines) -> None:
    """Kills each process of a machine once, of the other too, and each server that both use."""
    for process in machines.processes.values():
        time.sleep(PAUSE)
        process.restart()
    for kill in (machines.redis.fail_over, machines.pooler.restart, machines.database.restart):
        time.sleep(PAUSE)
        kill()
    machines.wait_until_ready()
    time.sleep(PAUSE)


@pytest.mark.long
@pytest.mark.timeout(850)
def test_every_record_is_stored_once_though_each_process_and_server_was_killed(machines: Machines) -> None:
    machines.manage("sign_in_link", machines.url)  # makes the first project
    token = machines.manage("ingest_token", "default").strip()
    recorder, tasks = observe(machines.url, token, lambda: disturb(machines))
    assert_stored_once(machines.database.rows, recorder, tasks)
    # Celery's queue works with the new master, the locks of its tasks with the new sessions
    wait_for(lambda: machines.database.rows(RUNS) != [(0,)], "no run was found and counted", machines)
    wait_for(lambda: machines.database.rows(TILES) != [(0,)], "no tile was built", machines)


def wait_for(is_so: Callable[[], bool], why: str, machines: Machines) -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline, f"{why}\n{machines.logs()}"
        time.sleep(1)
