"""The recorded runs: shapes of work that differ in what they count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from distributed import Client, Future, get_worker, wait

Work = Callable[[Client], Any]

WORKLOADS: dict[str, Work] = {}
"""by name; what a workload returns is kept until its figures were read"""
OPTIONS: dict[str, dict[str, Any]] = {}
"""of the cluster of a workload, where it has others"""
MIB = 1 << 20


def workload(**options: Any) -> Callable[[Work], Work]:
    def add(work: Work) -> Work:
        name = work.__name__.replace("_", " ")
        WORKLOADS[name] = work
        OPTIONS[name] = options
        return work

    return add


@workload()
def an_array(client: Client) -> Any:
    import dask.array as da

    array = da.random.random((3_000, 3_000), chunks=(500, 3_000))
    return client.compute((array + array.T).sum(axis=0).mean()).result(300)


@workload()
def a_shuffled_dataframe(client: Client) -> Any:
    import dask

    data = dask.datasets.timeseries(end="2000-01-08", freq="5s", partition_freq="12h")
    kept = client.persist(data.shuffle("name"))
    wait(kept, 300)
    return kept


@workload()
def a_bag(client: Client) -> Any:
    import dask.bag as db

    bag = db.from_sequence(range(4_000), npartitions=16)
    return client.compute(bag.map(lambda one: one % 7).frequencies()).result(300)


@workload()
def futures_in_memory(client: Client) -> Any:
    made = client.map(_sleep, [0.25] * 20, key=[f"quarter-{number}" for number in range(20)])
    long = client.submit(_sleep, 2.5, key="long-1")
    sizes = client.map(_bytes, [MIB * number for number in range(1, 6)], pure=False)
    wait([*made, long, *sizes], 300)
    return [made, long, sizes]


@workload()
def errors_and_retries(client: Client) -> Any:
    """60 tasks, of which 9 fail for good, and 5 others at their first attempt."""
    tasks = [client.submit(_fail_first, number, key=f"fragile-{number}", retries=1) for number in range(5)]
    tasks += [client.submit(_fail, number, number % 5 == 0, key=f"work-{number}") for number in range(45)]
    wait(tasks, 300)
    after = [client.submit(_add, one, 1, key=f"after-{number}") for number, one in enumerate(tasks[5:15])]
    wait(after, 300)
    return [tasks, after]


@workload()
def a_killed_worker(client: Client) -> Any:
    """Results are lost with a worker and computed again."""
    made = client.map(_bytes_slowly, range(30), key=[f"kept-{number}" for number in range(30)])
    wait(made, 300)
    address = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    client.submit(_kill, key="kill-1", workers=[address], retries=0)
    deadline = time.monotonic() + 120
    while address in client.scheduler_info(n_workers=-1)["workers"] and time.monotonic() < deadline:
        time.sleep(0.2)
    wait(made, 300)
    return made


@workload()
def restarted_workers(client: Client) -> Any:
    """Two workers with two lifetimes each."""
    wait(client.map(_sleep, [0.1] * 16, key=[f"before-{number}" for number in range(16)]), 300)
    client.restart_workers(list(client.scheduler_info(n_workers=-1)["workers"]), timeout=300)
    client.wait_for_workers(2, timeout=300)
    after = client.map(_sleep, [0.1] * 16, key=[f"after-{number}" for number in range(16)])
    wait(after, 300)
    return after


@workload(memory_limit="200MiB")
def spilling(client: Client) -> Any:
    made = client.map(_bytes, [10 * MIB] * 40, pure=False)
    wait(made, 300)
    time.sleep(3)
    return made


@workload()
def many_tiny_tasks(client: Client) -> Any:
    made = client.map(abs, range(3_000))
    total = client.submit(sum, made)
    wait(total, 300)
    return [made, total]


@workload()
def data_that_moves(client: Client) -> Any:
    made = client.map(_bytes, [4 * MIB] * 8, pure=False)
    wait(made, 300)
    joined = [client.submit(_join, made, number) for number in range(4)]
    wait(joined, 300)
    return [made, joined]


def _sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def _bytes(size: int) -> bytearray:
    return bytearray(size)


def _bytes_slowly(number: int) -> bytearray:
    time.sleep(0.05)
    return bytearray(MIB)


def _fail(number: int, fails: bool) -> int:
    time.sleep(0.02)
    if fails:
        raise ValueError(f"no {number}")
    return number


def _fail_first(number: int) -> int:
    """Fails where its worker has not seen the number, and nobody else has."""
    import os
    import tempfile

    mark = os.path.join(tempfile.gettempdir(), f"figures-{os.getppid()}-{number}")
    if not os.path.exists(mark):
        open(mark, "w").close()
        raise ValueError("at first")
    os.remove(mark)
    return number


def _add(one: int, other: int) -> int:
    return one + other


def _join(parts: list[bytearray], number: int) -> int:
    time.sleep(0.1)
    return sum(map(len, parts)) + number


def _kill() -> None:
    import os
    import signal

    if isinstance(get_worker(), object) and not isinstance(get_worker(), Future):
        os.kill(os.getpid(), signal.SIGKILL)
