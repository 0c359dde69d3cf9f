"""Workloads in which nothing is wrong."""

from __future__ import annotations

import random

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait

from benchmarks.unprepared import tasks
from benchmarks.unprepared.futures import SIXTEEN
from benchmarks.unprepared.graphs import EIGHT, FOUR, TWO_BY_TWO
from benchmarks.unprepared.workload import unprepared


@unprepared(**FOUR)
def lognormal_durations(client: Client, has_cause: bool) -> None:
    """Around 0.3 s each, as the durations of real work are spread."""
    chance = random.Random(11)
    seconds = [0.3 * chance.lognormvariate(0, 0.6) for _ in range(100)]
    wait(client.map(tasks.fit, seconds, pure=False))


@unprepared(**TWO_BY_TWO)
def array_reduction(client: Client, has_cause: bool) -> None:
    array = da.random.random((64, 100_000), chunks=(1, 100_000)).map_blocks(tasks.block, 0.3, dtype=float)
    array.mean(axis=0).sum().compute()


@unprepared(**TWO_BY_TWO)
def dataframe_grouped(client: Client, has_cause: bool) -> None:
    frame = pd.DataFrame({"city": np.arange(48_000) % 7, "value": 1.0})
    table = dd.from_pandas(frame, npartitions=48, sort=False)
    table.map_partitions(tasks.transform, 0.0004, meta=frame).groupby("city").value.mean().compute()


@unprepared(**EIGHT)
def rounds_of_equal_parts(client: Client, has_cause: bool) -> None:
    model = client.submit(tasks.fit, 0.02, pure=False)
    for _ in range(8):
        parts = [client.submit(tasks.fit, 0.5, model, pure=False) for _ in range(16)]
        model = client.submit(tasks.fit, 0.02, *parts, pure=False)
    model.result()


@unprepared(**SIXTEEN)
def bag_of_sixteen_workers(client: Client, has_cause: bool) -> None:
    bag = db.from_sequence(range(192), npartitions=192)
    bag.map(lambda number: tasks.fit(0.5)).sum().compute()


@unprepared(**FOUR)
def restart_between_two_parts(client: Client, has_cause: bool) -> None:
    """The client restarts the workers on purpose, as some do after each part of their work."""
    wait(client.map(tasks.fit, [0.5] * 32, pure=False))
    client.restart()
    wait(client.map(tasks.fit, [0.5] * 32, pure=False))


@unprepared(**TWO_BY_TWO)
def delayed_pipeline(client: Client, has_cause: bool) -> None:
    loads = [dask.delayed(tasks.fit)(0.3) for _ in range(24)]
    cleaned = [dask.delayed(tasks.fit)(0.4, one) for one in loads]
    client.compute(dask.delayed(tasks.fit)(0.05, *cleaned), optimize_graph=False).result()
