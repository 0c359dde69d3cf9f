"""Scenarios of different shapes in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

import dask
import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas as pd
from distributed import Client, wait

from tests.why.scenarios.tasks import add, sleep, sleep_for_each

HEALTHY: dict[str, Callable[[Client], None]] = {}


def healthy(work: Callable[[Client], None]) -> Callable[[Client], None]:
    HEALTHY[work.__name__] = work
    return work


@healthy
def equal_futures(client: Client) -> None:
    wait(client.map(sleep, [0.5] * 80, pure=False))


@healthy
def futures_of_different_length(client: Client) -> None:
    wait(client.map(sleep, [0.2 + 0.02 * (place * 7 % 20) for place in range(120)], pure=False))


@healthy
def long_tasks(client: Client) -> None:
    wait(client.map(sleep, [4.0] * 12, pure=False))


@healthy
def tree_reduction(client: Client) -> None:
    level = [dask.delayed(sleep)(0.4) for _ in range(96)]
    while len(level) > 1:
        level = [dask.delayed(sleep)(0.2, *level[at : at + 8]) for at in range(0, len(level), 8)]
    client.compute(level[0], optimize_graph=False).result(120)


@healthy
def map_and_reduce(client: Client) -> None:
    loads = [dask.delayed(sleep)(0.3) for _ in range(48)]
    maps = [dask.delayed(sleep)(0.3, load) for load in loads]
    client.compute(dask.delayed(add)(*maps), optimize_graph=False).result(120)


@healthy
def rounds_of_training(client: Client) -> None:
    """As of boosted trees: each round needs all parts of the one before."""
    model = client.submit(sleep, 0.05, pure=False)
    for _ in range(8):
        parts = [client.submit(sleep, 0.8, model, pure=False) for _ in range(8)]
        model = client.submit(sleep, 0.05, *parts, pure=False)
    wait(model)


@healthy
def array(client: Client) -> None:
    blocks = dask.array.ones((6_000, 1_000), chunks=(100, 1_000)).map_blocks(_slowly, dtype=float)
    assert client.compute((blocks + 1).sum()).result(120) == 12e6


@healthy
def dataframe(client: Client) -> None:
    frame = pd.DataFrame({"key": np.arange(6_000) % 5, "value": 1.0})
    parts = dask.dataframe.from_pandas(frame, npartitions=48).map_partitions(_slowly, meta=frame)
    assert client.compute(parts.groupby("key").value.sum()).result(120).sum() == 6_000


@healthy
def bag(client: Client) -> None:
    items = dask.bag.from_sequence(range(480), npartitions=48).map_partitions(_slowly)
    assert client.compute(items.sum()).result(120) == sum(range(480))


@healthy
def as_completed_with_more(client: Client) -> None:
    """New tasks are sent as soon as old ones have finished."""
    tasks = client.map(sleep, [0.4] * 40, pure=False)
    wait([client.submit(sleep, 0.4, task, pure=False) for task in tasks])


@healthy
def two_prefixes_at_once(client: Client) -> None:
    short = client.map(sleep_for_each, [[1]] * 60, seconds=0.2, pure=False)
    wait([*short, *client.map(sleep, [0.8] * 30, pure=False)])


@healthy
def persisted_and_used_twice(client: Client) -> None:
    loads = client.persist([dask.delayed(sleep)(0.4) for _ in range(40)])
    for _ in range(2):
        client.compute(dask.delayed(add)(*[dask.delayed(sleep)(0.2, load) for load in loads])).result(120)


def _slowly(part: object) -> object:
    import time

    time.sleep(0.4)
    return part
