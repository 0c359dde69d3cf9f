"""Records of workers and nannies arrive once, also when an answer or a worker is lost."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster, wait

import observatory.agent
from observatory.agent.scheduler import samples, worker_messages
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server


@pytest.fixture
def client() -> Iterator[Client]:
    workers = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)  # until then the client does not list them
        yield client


@pytest.fixture
def received(client: Client) -> Iterator[FakeServer]:
    with fake_server() as received:
        settings: dict[str, Any] = {"flush_interval": "100ms", "loggers": {"my_package": "DEBUG"}}
        observatory.agent.register(client, url=received.url, token=TOKEN, **settings)
        yield received
    assert received.refused == 0


def say(logger: str, level: int, number: int) -> int:
    logging.getLogger(logger).log(level, "number %d", number)
    return os.getpid()


def say_and_die(number: int) -> None:
    logging.getLogger("distributed.worker").warning("number %d", number)
    os.kill(os.getpid(), signal.SIGKILL)


def said(received: FakeServer) -> Counter[str]:
    return Counter(row["message"] for row in received.rows["log"] if row["message"].startswith("number "))


def test_a_message_whose_answer_is_lost_is_sent_again_and_recorded_once(
    client: Client, received: FakeServer
) -> None:
    scheduler = client.cluster.scheduler
    take, lost = scheduler.handlers["observatory_records"], []

    def take_and_lose(**message: Any) -> Any:
        answer = take(**message)
        if len(lost) < 4 and "log" in message["records"]:
            lost.append(message["number"])
            raise RuntimeError("the answer is lost")
        return answer

    scheduler.handlers["observatory_records"] = take_and_lose
    wait(client.map(say, ["distributed.worker"] * 50, [30] * 50, range(50), pure=False))
    eventually(lambda: len(lost) == 4 and len(said(received)) == 50)
    time.sleep(1)
    assert said(received) == {f"number {number}": 1 for number in range(50)}


def test_the_last_logs_of_a_killed_worker_are_recorded_with_how_it_ended(
    client: Client, received: FakeServer
) -> None:
    address = sorted(client.scheduler_info()["workers"])[0]
    pid = client.run(os.getpid, workers=[address])[address]
    future = client.submit(say_and_die, 1, workers=[address], retries=0)
    restarted = eventually(lambda: received.events("worker-restarted"))
    client.cancel(future)
    assert restarted[0]["worker"] == address
    detail = restarted[0]["detail"]
    assert (detail["signal"], detail["exitcode"], detail["pid"]) == ("SIGKILL", -signal.SIGKILL, pid)
    assert "was killed by SIGKILL" in detail["message"]
    words = eventually(lambda: [row for row in received.rows["log"] if row["message"] == "number 1"])
    assert [(row["worker"], row["pid"], row["role"]) for row in words] == [(address, pid, "worker")]
    gone = eventually(lambda: [row for row in received.rows["gone"] if row["address"] == address])
    assert gone[0]["reason"] == "lost"
    nannys = eventually(
        lambda: [r for r in received.rows["log"] if r["role"] == "nanny" and "Restarting" in r["message"]]
    )
    assert [row["worker"] for row in nannys] == [address]


def test_a_starting_process_is_not_sampled_under_the_address_of_the_dead_one(tmp_path: Path) -> None:
    slow_start = tmp_path / "slow_start.py"
    slow_start.write_text("import time\ntime.sleep(2)\n")
    workers = {"n_workers": 1, "threads_per_worker": 1, "preload": [str(slow_start)]}
    with (
        LocalCluster(**workers, silence_logs="CRITICAL", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        fake_server() as received,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        ((address, pid),) = client.run(os.getpid).items()
        eventually(lambda: memory_samples(received, address))
        os.kill(pid, signal.SIGKILL)
        (exit,) = eventually(lambda: received.events("worker-restarted"))
        replaced = eventually(
            lambda: {row["address"] for row in received.rows["worker"]} - {address}, seconds=60
        )
        eventually(lambda: memory_samples(received, *replaced))
        assert [time for time in memory_samples(received, address) if time > exit["time"]] == []


def test_all_records_of_a_nanny_are_on_the_schedulers_clock(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = 3600.0
    monkeypatch.setattr(worker_messages, "time", lambda: time.time() + hour)
    began = time.time()
    with fake_server() as received:
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        logging.getLogger("distributed.nanny").warning("number 1")
        [log] = eventually(lambda: [row for row in received.rows["log"] if row["message"] == "number 1"])
        assert (log["role"], log["time"] - began) == ("nanny", pytest.approx(hour, abs=30))
        [address, _] = client.scheduler_info()["workers"]
        eventually(lambda: [time for time in memory_samples(received, address) if time > began + hour - 30])
        observatory.agent.unregister(client)


def memory_samples(received: FakeServer, address: str) -> list[float]:
    """Times of the samples of the memory of a worker's process."""
    series = ["observatory_worker_memory_bytes", {"type": "process"}, address]
    return [row["time"] for row in received.rows["sample"] if json.loads(row["series"])[:3] == series]


def test_the_users_own_loggers_are_recorded_when_configured(client: Client, received: FakeServer) -> None:
    calls = [
        ("my_package.part", 10),
        ("their_package", 50),
        ("distributed.worker", 10),
        ("distributed.worker", 20),
    ]
    futures = [client.submit(say, *call, number, pure=False) for number, call in enumerate(calls)]
    wait(futures)
    eventually(lambda: len(said(received)) == 2)
    time.sleep(1)
    assert set(said(received)) == {"number 0", "number 3"}


def test_a_worker_that_joins_later_is_described_too(client: Client, received: FakeServer) -> None:
    begun, known = time.time(), set(client.scheduler_info()["workers"])
    client.cluster.scale(3)
    client.wait_for_workers(3, timeout=180)
    client.run(say, "distributed.worker", 30, 5)
    eventually(lambda: said(received)["number 5"] == 3)
    workers = {row["address"]: row for row in received.rows["worker"] if row["detail"].get("pid")}
    assert set(workers) == set(client.scheduler_info()["workers"])
    assert {row["status"] for row in workers.values()} == {"running"}
    [later] = [row for address, row in workers.items() if address not in known]
    assert begun - 1 < later["detail"]["process_started"] < later["time"]
    assert all(workers[address]["detail"]["process_started"] < begun for address in known)
    assert {row["detail"]["versions"]["distributed"] for row in workers.values()} == {_version()}


def test_a_workers_disk_usage_is_sampled(client: Client, received: FakeServer) -> None:
    usage = shutil.disk_usage(client.cluster.workers[0].local_directory)

    def reported() -> dict[str, float]:
        samples = [(json.loads(row["series"]), row["value"]) for row in received.rows["sample"]]
        return {
            worker: value
            for (metric, _, worker, _), value in samples
            if metric == "observatory_worker_disk_ratio"
        }

    eventually(lambda: len(reported()) == 2)
    assert reported().keys() == set(client.scheduler_info()["workers"])
    for ratio in reported().values():
        assert ratio == pytest.approx(usage.used / (usage.used + usage.free), abs=0.1)


def test_finished_tasks_and_their_durations_are_counted(client: Client, received: FakeServer) -> None:
    wait(client.map(time.sleep, [0.1] * 5, pure=False))

    def reported(metric: str) -> float:
        samples = [(json.loads(row["series"]), row["value"]) for row in received.rows["sample"]]
        return max((value for (name, *_), value in samples if name == metric), default=0.0)

    eventually(lambda: reported("observatory_cluster_tasks_finished_total") == 5)
    assert reported("observatory_cluster_task_seconds_total") >= 0.5


def test_the_schedulers_own_counts_by_prefix_are_sampled_so_that_progress_survives_dropped_records(
    client: Client, received: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "RARE", 1)
    client.scatter([1, 2, 3])
    wait(client.map(time.sleep, [0.01] * 7, pure=False))

    def reported(metric: str) -> dict[tuple[str, str], float]:
        rows = [(json.loads(row["series"]), row["value"]) for row in received.rows["sample"]]
        return {
            (labels.get("task_prefix_name", ""), labels.get("state", "")): value
            for (name, labels, *_), value in rows
            if name == metric
        }

    counted = "dask_scheduler_prefix_state_totals_total"
    eventually(lambda: reported(counted).get(("sleep", "memory")) == 7)
    assert reported(counted)["sleep", "waiting"] == 7
    eventually(lambda: reported("observatory_cluster_tasks_computed_total") == {("", ""): 7})


def test_every_log_line_of_a_process_with_scheduler_and_nannies_is_recorded_once(
    client: Client, received: FakeServer
) -> None:
    for number in range(20):
        say("distributed.scheduler", 30, number)
        say("distributed.nanny", 30, 100 + number)
    eventually(lambda: len(said(received)) == 40)
    time.sleep(1)
    assert set(said(received).values()) == {1}
    roles = {row["message"]: row["role"] for row in received.rows["log"]}
    assert (roles["number 1"], roles["number 101"]) == ("scheduler", "nanny")


def _version() -> str:
    import distributed

    return str(distributed.__version__)
