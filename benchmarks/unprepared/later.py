"""Workloads of other shapes, written after the detectors had been mended for the others and before any run.

They ask whether what was mended is the cause and not the workload. Their tasks are their own.
"""

from __future__ import annotations

import tempfile
import threading
import time
from functools import partial
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait
from distributed.diagnostics.plugin import SchedulerPlugin

from benchmarks.unprepared import tasks
from benchmarks.unprepared.service import service
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

PREPARED = frozenset(WORKLOADS)
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FIVE = {"n_workers": 5, "threads_per_worker": 1}


class SlowAudit(SchedulerPlugin):
    """Writes each change of a task's state somewhere slow."""

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        time.sleep(0.006)


def append_row(frame: pd.DataFrame, seconds: float, path: str | None) -> pd.DataFrame:
    """Computes, then writes under a POSIX lock of a file, which one process may have."""
    import fcntl

    tasks.fit(seconds / 4)
    if path is None:
        tasks.fit(seconds)
        return frame
    with open(path, "a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        tasks.fit(seconds)
    return frame


def ask_once(number: int, seconds: float, url: str | None) -> int:
    """Computes; one task asks a service as well."""
    tasks.fit(seconds)
    return tasks.ask(number, url) if url and number == 30 else number


def block_loop(seconds: float, times: int, dask_worker: Any) -> None:
    """A callback that sleeps on the worker's event loop, now and then."""
    for number in range(times):
        dask_worker.loop.add_callback(dask_worker.loop.call_later, number * 1.6, time.sleep, seconds)


@unprepared("scheduler-busy", **THREE_BY_TWO)
def dataframe_under_a_slow_audit(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.register_plugin(SlowAudit())
    frame = pd.DataFrame({"value": np.arange(120)})
    table = dd.from_pandas(frame, npartitions=120, sort=False)
    wait(client.compute(table.map_partitions(tasks.transform, 0.05, meta=frame).to_delayed()))


@unprepared("serialized", **THREE_BY_TWO)
def dataframe_written_into_one_file(client: Client, has_cause: bool) -> None:
    frame = pd.DataFrame({"value": np.arange(24)})
    table = dd.from_pandas(frame, npartitions=24, sort=False)
    with tempfile.NamedTemporaryFile() as file:
        path = file.name if has_cause else None
        table.map_partitions(append_row, 0.3, path, meta=frame).value.sum().compute()


@unprepared("late-workers", n_workers=2, threads_per_worker=1, without=FIVE)
def pipeline_whose_cluster_grows(client: Client, has_cause: bool) -> None:
    """Two stages on two workers; three more are asked for after two seconds."""
    if has_cause:
        threading.Timer(2, client.cluster.scale, [5]).start()
    loads = [dask.delayed(tasks.fit)(0.35) for _ in range(40)]
    wait(client.compute([dask.delayed(tasks.fit)(0.25, one) for one in loads], optimize_graph=False))


@unprepared("stragglers", **FIVE)
def one_request_that_is_answered_late(client: Client, has_cause: bool) -> None:
    """Of forty tasks one waits for seven seconds: without that it takes as long as the others."""
    with service(7) as url:
        wait(client.map(ask_once, range(40), seconds=0.5, url=url if has_cause else None, pure=False))


@unprepared("stragglers", **THREE_BY_TWO)
def one_hard_case_of_an_optimization(client: Client, has_cause: bool) -> None:
    """It computes for nine seconds; the twin divides the same work."""
    seconds = [0.4] * 47 + [9] if has_cause else [(47 * 0.4 + 9) / 48] * 48
    wait(client.map(tasks.fit, seconds, pure=False))


@unprepared("event-loops", has_cost=False, **THREE_BY_TWO)
def callbacks_that_sleep(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.run(block_loop, 1.2, 6)
    for _ in range(20):
        wait(client.map(tasks.fit, [0.25] * 6, pure=False))


@unprepared("stragglers", **FIVE)
def rounds_with_a_part_that_hangs(client: Client, has_cause: bool) -> None:
    """In each of four rounds one of ten parts waits for something for three seconds more."""
    model = client.submit(tasks.fit, 0.05, pure=False)
    for _ in range(4):
        parts = [client.submit(tasks.fit, 0.4, model, pure=False) for _ in range(9)]
        late = client.submit(tasks.query, 0, 3.4 if has_cause else 0.4, pure=False)
        model = client.submit(tasks.fit, 0.05, *parts, late, pure=False)
    model.result()


@unprepared(**THREE_BY_TWO)
def array_in_a_deep_tree(client: Client, has_cause: bool) -> None:
    """Long blocks, and many short steps that add them up."""
    array = da.ones((96, 64, 10), chunks=(1, 64, 10)).map_blocks(tasks.block, 0.45, dtype=float)
    client.compute(array.sum(axis=0, split_every=2).std(split_every=2)).result()


@unprepared(**FIVE)
def rounds_that_share_a_model(client: Client, has_cause: bool) -> None:
    model = client.submit(tasks.row, 1, 2_000_000, pure=False)
    for _ in range(5):
        parts = [client.submit(tasks.fit, 0.7, model, pure=False) for _ in range(15)]
        model = client.submit(tasks.row, 1, 2_000_000, pure=False) if wait(parts) else None


@unprepared(**THREE_BY_TWO)
def texts_of_other_lengths(client: Client, has_cause: bool) -> None:
    """Between 0.1 and 0.9 s each, the longest first."""
    seconds = np.linspace(0.9, 0.1, 72).tolist()
    wait(client.map(partial(tasks.fit), seconds, pure=False))


LATER: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in PREPARED]
"""They belong to no half."""
