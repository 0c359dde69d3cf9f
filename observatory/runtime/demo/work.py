"""The work of the demo's cluster: named runs, of which each shows something else on the pages."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import dask.array
import dask.datasets
import numpy as np
from distributed import Client, Semaphore, wait

from observatory import run
from observatory.runtime.demo.cluster import WORKERS, kill_one_worker

log = logging.getLogger("observatory.demo")

TIMEOUT = 120
"""seconds for a stage"""
PAUSE = 3.0
"""seconds between two runs"""
RELEASES = {"2.0": 0.1, "2.1": 0.5}
"""seconds that the import takes to clean a part, by release: the newer one is slower"""
PARTS = 90
CONNECTIONS = 2
"""that the warehouse allows the imports at a time"""

Stage = Callable[[Client], object]


@dataclass(frozen=True, slots=True)
class DemoRun:
    name: str
    stages: tuple[Stage, ...]
    release: str = "2.0"


def one_pass(client: Client) -> None:
    """Run all runs in order, with pauses: about two minutes."""
    # workers import the libraries before the first run, not in it; one may still be dying of the last pass
    client.run(load_part, 0, on_error="ignore")
    for demo_run in demo_runs():
        log.info("%s, release %s", demo_run.name, demo_run.release)
        started = time.monotonic()
        with run(demo_run.name, tags={"release": demo_run.release, "env": "demo"}, client=client):
            for stage in demo_run.stages:
                _run_stage(stage, client)
        log.info("%s took %.1f s", demo_run.name, time.monotonic() - started)
        time.sleep(PAUSE)


def demo_runs() -> list[DemoRun]:
    """The runs of a pass. Dataframes need pandas, which the extra `demo` installs."""
    frames = (shuffle_dataframe,) if find_spec("pandas") else ()
    imports = [
        DemoRun("hourly import", (partial(import_files, release=release),), release)
        for release in ("2.0", "2.0", "2.0", "2.1")
    ]
    return [
        *imports,
        DemoRun("flaky export", (fail_some, kill_workers)),
        DemoRun("nightly report", (reduce_array, *frames, hog_the_gil)),
        DemoRun("memory test", (grow_memory, lose_a_worker)),
    ]


def _run_stage(stage: Stage, client: Client) -> None:
    try:
        stage(client)
    except Exception:  # the next stages still run
        log.exception("%s ended early", stage)


def import_files(client: Client, release: str) -> None:
    loaded = client.map(load_part, range(PARTS), pure=False)
    cleaned = client.map(clean_part, loaded, seconds=RELEASES[release], pure=False)
    wait(client.map(store_part, cleaned, pure=False), timeout=TIMEOUT)
    client.log_event("imports", {"action": "stored", "parts": PARTS, "release": release})


def reduce_array(client: Client) -> None:
    for _ in range(3):
        array = dask.array.random.random((6000, 6000), chunks=(750, 750))
        client.compute((array + array.T).std(axis=0).sum()).result(TIMEOUT)


def shuffle_dataframe(client: Client) -> None:
    frame = dask.datasets.timeseries(start="2000-01-01", end="2000-02-15", partition_freq="1D", freq="10s")
    client.compute(frame.shuffle("name").groupby("name").x.mean()).result(TIMEOUT)


def hog_the_gil(client: Client, tasks: int = 150) -> None:
    limits = [4_000 + number for number in range(tasks)]
    wait(client.map(count_primes, limits, pure=False), timeout=TIMEOUT)


def grow_memory(client: Client) -> None:
    """Make the workers spill: keep more than their target share of memory, then read it again."""
    held = client.map(make_block, range(60), pure=False)
    wait(held, timeout=TIMEOUT)
    wait(client.map(sum_block, held, pure=False), timeout=TIMEOUT)
    time.sleep(2)


def fail_some(client: Client) -> None:
    futures = client.map(fail_sometimes, range(60), pure=False, retries=0)
    wait(futures, timeout=TIMEOUT)


def kill_workers(client: Client) -> None:
    """Let a task end with a KilledWorker: each worker that has it dies, as when memory is short."""
    wait(client.submit(die_with_worker, pure=False, retries=0), timeout=TIMEOUT)
    client.wait_for_workers(WORKERS, timeout=TIMEOUT)


def lose_a_worker(client: Client) -> None:
    futures = client.map(nap, range(60), pure=False)
    time.sleep(1)
    kill_one_worker(client)
    wait(futures, timeout=TIMEOUT)


def load_part(number: int) -> int:
    time.sleep(0.05)
    return number


def clean_part(number: int, seconds: float) -> int:
    time.sleep(seconds)
    return number


def store_part(number: int) -> int:
    with Semaphore(max_leases=CONNECTIONS, name="warehouse"):
        time.sleep(0.05)
    return number


def die_with_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def count_primes(limit: int) -> int:
    """Pure Python, which keeps the GIL."""
    return sum(
        all(number % divisor for divisor in range(2, int(number**0.5) + 1)) for number in range(2, limit * 6)
    )


def make_block(number: int) -> Any:
    """20 MB of noise, which does not compress: spilled blocks take disk space."""
    time.sleep(0.05)
    return np.random.default_rng(number).random(2_500_000)


def sum_block(block: Any) -> float:
    return float(block.sum())


def fail_sometimes(number: int) -> int:
    time.sleep(0.05)
    if number % 7 == 3:
        raise ValueError(f"number {number} is unlucky")
    return number


def nap(number: int) -> int:
    time.sleep(0.15)
    return number
