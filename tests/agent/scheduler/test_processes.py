"""Several workers in one process: LocalCluster(processes=False), as an agent reports it."""

from __future__ import annotations

import json

import pytest
from distributed import Client, LocalCluster, wait

import observatory.agent
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

SIZE = 20_000_000
PROCESS, MANAGED, UNMANAGED = "process", "managed", "unmanaged"


def last_memory(received: FakeServer) -> dict[tuple[str, str], float]:
    """Bytes by worker ("": of the cluster) and type, as last reported."""
    found = {}
    for row in received.rows["sample"]:
        metric, labels, worker, _ = json.loads(row["series"])
        if metric in ("observatory_worker_memory_bytes", "observatory_cluster_memory_bytes"):
            found[worker, labels["type"]] = row["value"]
    return found


@pytest.mark.parametrize("protocol", ["inproc", "tcp"])
def test_a_process_with_three_workers_is_counted_once(protocol: str) -> None:
    workers = {"n_workers": 3, "threads_per_worker": 1, "processes": False, "silence_logs": "CRITICAL"}
    with (
        fake_server() as received,
        LocalCluster(**workers, protocol=protocol, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        addresses = list(cluster.scheduler.workers)
        results = [client.submit(bytes, SIZE, workers=[address], pure=False) for address in addresses]
        wait(results)

        def is_counted_once() -> bool:
            memory = last_memory(received)
            cluster, managed, unmanaged = (
                memory.get(("", kind), 0) for kind in (PROCESS, MANAGED, UNMANAGED)
            )
            each = [memory.get((address, PROCESS), 0) for address in addresses]
            own = [memory.get((address, MANAGED), 0) for address in addresses]
            rest = [memory.get((address, UNMANAGED), 0) for address in addresses]
            return (
                0.9 * min(each) < cluster < 1.1 * max(each)
                and sum(own) == managed >= 3 * SIZE
                and unmanaged == pytest.approx(cluster - managed)
                and rest == pytest.approx([unmanaged] * 3, rel=0.1)
            )

        eventually(is_counted_once)
        details = [row["detail"] for row in received.rows["worker"]]
        assert len({detail["process"] for detail in details if "executable" in detail}) == 1
