"""Samples of semaphores and locks on a real cluster, as an agent reports them."""

from __future__ import annotations

import json
import time

from distributed import Client, Lock, MultiLock, Scheduler, Semaphore

from observatory.agent.scheduler.semaphores import MAXIMUM_NAMES, Semaphores
from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer


def sampled(received: FakeServer, name: str) -> dict[str, float]:
    """The newest sample of each metric of a semaphore."""
    found: dict[str, float] = {}
    for row in received.rows["sample"]:
        metric, labels, _, _ = json.loads(row["series"])
        if metric.startswith("dask_semaphore_") and labels["name"] == name:
            found[metric.removeprefix("dask_semaphore_")] = row["value"]
    return found


def hold(seconds: float) -> None:
    with Semaphore(max_leases=1, name="database"):
        time.sleep(seconds)


def test_leases_in_use_and_requests_that_wait_are_sampled(client: Client, received: FakeServer) -> None:
    held = client.map(hold, [3, 3.1], pure=False)  # whichever is first, the other waits
    waiting = {"max_leases": 1, "active_leases": 1, "pending_leases": 1}
    eventually(lambda: waiting.items() <= sampled(received, "database").items())
    client.gather(held)
    eventually(lambda: sampled(received, "database")["active_leases"] == 0)
    assert sampled(received, "database")["average_pending_lease_time_s"] > 0.5


def test_a_lock_is_a_semaphore_with_one_lease(client: Client, received: FakeServer) -> None:
    with Lock("file"):
        eventually(lambda: sampled(received, "file").get("active_leases") == 1)
        assert sampled(received, "file")["max_leases"] == 1
    eventually(lambda: sampled(received, "file")["active_leases"] == 0)


def test_each_lock_of_a_multi_lock_is_sampled(client: Client, received: FakeServer) -> None:
    with MultiLock(["left", "right"], client=client):
        eventually(lambda: sampled(received, "left").get("active_leases") == 1)
        eventually(lambda: sampled(received, "right").get("active_leases") == 1)
    eventually(lambda: sampled(received, "left")["active_leases"] == 0)


async def test_semaphores_are_sampled_once_they_are_used_and_only_so_many() -> None:
    samples: set[str] = set()
    async with Scheduler(dashboard_address=None, port=0) as scheduler:
        extension = scheduler.extensions["semaphores"]
        semaphores = Semaphores(scheduler, lambda now, metric, value, labels: samples.add(labels["name"]))
        extension.create("unused", 1, None)
        for number in range(MAXIMUM_NAMES + 1):
            extension.create(f"semaphore-{number}", 1, None)
            extension.leases[f"semaphore-{number}"]["a lease"] = 0.0
        semaphores.sample(1.0)
    assert samples == {f"semaphore-{number}" for number in range(MAXIMUM_NAMES)}
