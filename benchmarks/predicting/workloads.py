"""Six workloads of different shapes. Workers import this, and nothing of Django.

Tasks sleep, so that a machine with few cores runs as many at once as the workers have threads.
"""

from __future__ import annotations

import random
import time
from typing import Any

import dask
import dask.array
import numpy
from distributed import Client, wait

BLOCKS = 12
ROUNDS = 8


def sleep(seconds: float, *needed: Any) -> float:
    time.sleep(seconds)
    return seconds


def make(seconds: float, size: int) -> bytes:
    time.sleep(seconds)
    return bytes(size)


def shorten(seconds: float, *needed: Any) -> bytes:
    """Takes much, and returns little."""
    time.sleep(seconds)
    return bytes(100)


def slowly(block: Any) -> Any:
    time.sleep(0.15)
    return block


def independent(client: Client) -> None:
    """Many tasks of different durations."""
    durations = random.Random(1).choices([0.05, 0.1, 0.2, 0.5], k=240)
    wait(client.map(sleep, durations, pure=False))


def tree(client: Client) -> None:
    """Results are summed two by two."""
    level = [dask.delayed(sleep)(0.2) for _ in range(96)]
    while len(level) > 1:
        level = [dask.delayed(sleep)(0.1, *level[at : at + 2]) for at in range(0, len(level), 2)]
    client.compute(level[0]).result(300)


def exchange(client: Client) -> None:
    """Each of the second tasks needs a part of each of the first ones."""
    parts = [dask.delayed(make)(0.3, 3_000_000) for _ in range(BLOCKS)]
    moved = [dask.delayed(shorten)(0.4, *parts) for _ in range(4 * BLOCKS)]
    client.compute(dask.delayed(sleep)(0.1, *moved)).result(300)


def rounds(client: Client) -> None:
    """The client waits for each round, and thinks before the next one."""
    for _ in range(ROUNDS):
        client.gather(client.map(sleep, [0.3] * 18, pure=False))
        time.sleep(0.2)


def skewed(client: Client) -> None:
    """One task takes far longer than the others, which it delays."""
    first = client.map(sleep, [3.0] + [0.25] * 79, pure=False)
    wait(client.submit(sleep, 0.5, *first, pure=False))
    wait(client.map(sleep, [0.25] * 40, pure=False))


def array(client: Client) -> None:
    """Chunks are computed, rechunked and reduced."""
    made = dask.array.ones((1600, 1600), chunks=(200, 400))
    table = made.map_blocks(slowly, dtype=numpy.float64)
    turned = table.rechunk((400, 200)).map_blocks(slowly, dtype=numpy.float64)
    with dask.config.set({"array.rechunk.method": "tasks", "optimization.fuse.active": False}):
        client.compute(turned.sum(axis=0).max()).result(300)


WORKLOADS = {each.__name__: each for each in (independent, tree, exchange, rounds, skewed, array)}
