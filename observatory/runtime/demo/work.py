"""The work of the demo's cluster: each stage shows something else on the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import dask.array
import dask.datasets
import numpy as np
from distributed import Client, wait

from observatory.runtime.demo.cluster import kill_one_worker

log = logging.getLogger("observatory.demo")

TIMEOUT = 120
"""seconds for a stage"""


def one_pass(client: Client) -> None:
    """Run all stages in order: about a minute."""
    for stage in stages():
        log.info("%s", stage.__name__)
        started = time.monotonic()
        try:
            stage(client)
        except Exception:  # the next stages still run
            log.exception("%s ended early", stage.__name__)
        log.info("%s took %.1f s", stage.__name__, time.monotonic() - started)
        time.sleep(2)


def stages() -> list[Callable[[Client], None]]:
    """The stages in order. Dataframes need pandas, which the extra `demo` installs."""
    frames = [shuffle_dataframe] if find_spec("pandas") else []
    return [reduce_array, *frames, hog_the_gil, grow_memory, fail_some, lose_a_worker]


def reduce_array(client: Client) -> None:
    for _ in range(3):
        array = dask.array.random.random((6000, 6000), chunks=(750, 750))
        client.compute((array + array.T).std(axis=0).sum()).result(TIMEOUT)


def shuffle_dataframe(client: Client) -> None:
    frame = dask.datasets.timeseries(start="2000-01-01", end="2000-02-15", partition_freq="1D", freq="10s")
    client.compute(frame.shuffle("name").groupby("name").x.mean()).result(TIMEOUT)


def hog_the_gil(client: Client) -> None:
    limits = [4_000 + number for number in range(150)]
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


def lose_a_worker(client: Client) -> None:
    futures = client.map(nap, range(60), pure=False)
    time.sleep(1)
    kill_one_worker(client)
    wait(futures, timeout=TIMEOUT)


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
