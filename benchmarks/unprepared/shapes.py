"""Workloads of shapes that earlier sets don't have: joins, trees, batches, annotations, two clients, nannies.

Written from the words of the issue, and before any of them ran. Whoever wrote them had read the detectors.
"""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Lock, as_completed, wait

from benchmarks.unprepared.tasks import fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
GREEDY = 700
"""megabytes, of a worker that may have 500"""


def priced(part: pd.DataFrame, seconds_a_row: float) -> pd.DataFrame:
    fit(len(part) * seconds_a_row)
    return part.head(1)


def combine(parts: Any, seconds: float) -> int:
    fit(seconds)
    return 1


def train(number: int, seconds: float, path: str | None) -> int:
    """Takes more memory than its worker may have, the first time that it is tried."""
    fit(seconds)
    if path and number == 11 and not Path(path).exists():
        Path(path).touch()
        greedy = [np.ones(10_000_000, np.uint8) for _ in range(GREEDY // 10)]
        fit(5)
        return len(greedy)
    return number


def on_gpu(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def update(number: int, table: str) -> int:
    """Computes, and writes into a table that others can lock."""
    fit(0.3)
    with Lock(table):
        fit(0.02)
    return number


def reorganize(table: str, seconds: float) -> None:
    with Lock(table):
        fit(seconds)


def explore(number: int) -> int:
    fit(0.4)
    return number


@unprepared("stragglers", **FOUR)
def orders_joined_with_a_customer_who_has_most(client: Client, has_cause: bool) -> None:
    """A join of two tables by a key that half of the rows have."""
    rows = 1200
    keys = np.where(np.arange(rows) < (rows // 2 if has_cause else 0), 3, np.arange(rows) % 60)
    orders = pd.DataFrame({"customer": keys, "price": 1.0}).sample(frac=1, random_state=7)
    customers = pd.DataFrame({"customer": np.arange(60), "country": "x"})
    joined = dd.from_pandas(orders, npartitions=16, sort=False).merge(
        dd.from_pandas(customers, npartitions=16, sort=False), on="customer", npartitions=16
    )
    meta = pd.DataFrame({"customer": [0], "price": [1.0], "country": ["x"]})
    wait(client.compute(joined.map_partitions(priced, 0.01, meta=meta).to_delayed()))


@unprepared("few-tasks|narrow-stage", **TWO_BY_THREE)
def tree_with_a_heavy_top(client: Client, has_cause: bool) -> None:
    """Pairs are combined; the last steps, one after another, take a second each."""
    level = [dask.delayed(explore)(number) for number in range(32)]
    while len(level) > 1:
        level = [dask.delayed(combine)(level[first : first + 2], 0.1) for first in range(0, len(level), 2)]
    top = level[0]
    for _ in range(4):
        top = dask.delayed(combine)(top, 1.0 if has_cause else 0.05)
    client.compute(top, optimize_graph=False).result()


@unprepared("worker-died|memory-full|growing-memory", **FOUR, memory_limit="500MB")
def model_that_does_not_fit_at_first(client: Client, has_cause: bool) -> None:
    """The nanny ends the worker, and starts it again."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = f"{folder}/tried" if has_cause else None
        wait(client.map(train, range(40), seconds=0.5, path=path, pure=False))


@unprepared("serialized", **TWO_BY_THREE, resources={"GPU": 1})
def steps_that_are_annotated_with_a_gpu(client: Client, has_cause: bool) -> None:
    """One of three steps needs it, by dask.annotate; each worker has one."""
    loaded = [dask.delayed(explore)(number) for number in range(24)]
    with dask.annotate(resources={"GPU": 1}) if has_cause else nullcontext():
        trained = [dask.delayed(on_gpu)(one, 0.4) for one in loaded]
    written = [dask.delayed(combine)(one, 0.1) for one in trained]
    wait(client.compute(written, optimize_graph=False))


@unprepared("serialized|waiting-outside|other-runs", **THREE_BY_TWO)
def table_that_a_colleague_locks(client: Client, has_cause: bool) -> None:
    """Another client's task has the lock of a table for five seconds, which all tasks write into."""
    if has_cause:
        colleague = Client(client.scheduler.address, set_as_default=False)
        busy = colleague.submit(reorganize, "orders", 5.0, pure=False)
        threading.Event().wait(0.5)
    wait(client.map(update, range(48), table="orders", pure=False))
    if has_cause:
        wait(busy)
        colleague.close()


@unprepared("few-tasks|narrow-stage|client", **TWO_BY_THREE)
def batches_of_seven_for_six_threads(client: Client, has_cause: bool) -> None:
    """The client waits for each batch: the seventh one runs alone."""
    size = 7 if has_cause else 56
    for first in range(0, 56, size):
        wait(client.map(on_gpu, range(first, first + size), seconds=0.5, pure=False))


@unprepared("small-tasks|large-graph|scheduler-busy", **THREE_BY_TWO)
def array_in_chunks_of_one_row(client: Client, has_cause: bool) -> None:
    rows = 1500
    values = da.ones((rows, 50), chunks=(1 if has_cause else 125, 50))
    for _ in range(2):
        values = (values + 1).map_blocks(np.sqrt)
    client.compute(values.sum(), optimize_graph=False).result()


@unprepared(**TWO_BY_THREE)
def search_in_batches_of_what_has_completed(client: Client, has_cause: bool) -> None:
    """Twice as many questions as threads are open; each batch of answers is followed by as many."""
    running = as_completed(client.map(explore, range(12), pure=False), with_results=True)
    asked = 12
    for batch in running.batches():
        for _ in batch:
            if asked < 90:
                asked += 1
                running.add(client.submit(explore, asked, pure=False))


@unprepared(**THREE_BY_TWO)
def reports_of_several_priorities(client: Client, has_cause: bool) -> None:
    reports = []
    for priority in (0, 5, -5):
        with dask.annotate(priority=priority, retries=2):
            parts = [dask.delayed(explore)(100 * priority + number) for number in range(24)]
            reports.append(dask.delayed(combine)(parts, 0.2))
    wait(client.compute(reports, optimize_graph=False))


@unprepared(**FOUR)
def orders_joined_with_customers(client: Client, has_cause: bool) -> None:
    """A shuffle and a join of even keys, with more work than data."""
    orders = pd.DataFrame({"customer": np.arange(1920) % 480, "price": 1.0})
    table = dd.from_pandas(orders, npartitions=32, sort=False).shuffle("customer", npartitions=32)
    wait(client.compute(table.map_partitions(priced, 0.008, meta=orders).to_delayed()))


SHAPES: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half."""
