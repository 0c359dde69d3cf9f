"""Arrays, dataframes, bags and delayed functions."""

from __future__ import annotations

import tempfile
import time
from functools import partial

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Semaphore, wait

from benchmarks.unprepared import tasks
from benchmarks.unprepared.service import service
from benchmarks.unprepared.workload import unprepared

TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
EIGHT = {"n_workers": 8, "threads_per_worker": 1}


@unprepared("narrow-stage", **FOUR)
def array_with_a_serial_tail(client: Client, has_cause: bool) -> None:
    """A wide stage, then one task of four seconds; the twin divides it among the threads."""
    array = da.ones((32, 100), chunks=(1, 100)).map_blocks(tasks.block, 0.4, dtype=float)
    parts = client.compute(list(array.to_delayed().ravel()))
    middle = client.submit(tasks.fit, 0, *parts, pure=False)
    seconds, workers = (4, 1) if has_cause else (1, 4)
    addresses = list(client.scheduler_info(n_workers=-1)["workers"])[:workers]
    client.gather([client.submit(tasks.fit, seconds, middle, pure=False, workers=one) for one in addresses])


@unprepared("memory-full", **TWO_BY_TWO, memory_limit="350MB", without={"memory_limit": "3GB"})
def array_larger_than_memory(client: Client, has_cause: bool) -> None:
    """Kept in memory for a second pass, of more than the workers have."""
    array = da.ones((48, 2_000_000), chunks=(1, 2_000_000)).map_blocks(tasks.block, 0.1, dtype=float)
    array = client.persist(array)
    wait(array)
    client.compute(array.map_blocks(tasks.block, 0.05, dtype=float).sum()).result()


@unprepared("large-graph|client", **TWO_BY_TWO)
def array_of_the_client(client: Client, has_cause: bool) -> None:
    """An array of the client's in the graph of each of six steps; the twin makes it on the workers."""
    for step in range(6):
        if has_cause:
            parts = client.map(
                tasks.total, list(np.full((8, 6_000_000), step, np.uint8)), seconds=0.2, pure=False
            )
        else:
            rows = client.map(tasks.row, [step] * 8, nbytes=6_000_000, pure=False)
            parts = client.map(tasks.total, rows, seconds=0.2, pure=False)
        client.gather(parts)


@unprepared("stragglers", **FOUR)
def dataframe_with_one_large_partition(client: Client, has_cause: bool) -> None:
    """By size: one partition has as many rows as all the others."""
    rows = [4_000] + [200] * 20 if has_cause else [381] * 21
    frames = [pd.DataFrame({"value": np.arange(count)}) for count in rows]
    parts = [dask.delayed(tasks.transform)(frame, 0.001) for frame in frames]
    wait(client.compute(parts, optimize_graph=False))


@unprepared("stragglers", **TWO_BY_TWO)
def dataframe_with_one_slow_city(client: Client, has_cause: bool) -> None:
    """By time: equal partitions, one of which takes much longer; the twin has the same work spread."""
    frame = pd.DataFrame({"city": np.repeat(np.arange(24), 50), "value": 1.0})
    table = dd.from_pandas(frame, npartitions=24, sort=False)
    slow, others = (6.0, 0.4) if has_cause else ((6.0 + 23 * 0.4) / 24,) * 2
    table.map_partitions(
        tasks.slow_city, city=20, seconds=slow, others=others, meta=frame
    ).value.sum().compute()


@unprepared("first-use", **FOUR)
def dataframe_whose_library_is_imported(client: Client, has_cause: bool) -> None:
    frame = pd.DataFrame({"value": np.arange(4_000)})
    table = dd.from_pandas(frame, npartitions=40, sort=False)
    table.map_partitions(tasks.import_heavy, seconds=0.4, is_slow=has_cause, meta=frame).value.sum().compute()


@unprepared("growing-memory|memory-full", **TWO_BY_TWO, memory_limit="600MB")
def dataframe_tasks_that_leak(client: Client, has_cause: bool) -> None:
    """Both workers grow until they are paused; seconds later the memory is thrown away."""
    wait(client.map(tasks.keep, range(60), nbytes=33_000_000, seconds=0.25, is_leaking=has_cause, pure=False))


@unprepared("serialized", **TWO_BY_TWO)
def bag_under_a_lock_of_dask(client: Client, has_cause: bool) -> None:
    bag = db.from_sequence(range(24), npartitions=24)
    bag.map(tasks.in_turn, seconds=0.3, name="database" if has_cause else None).compute()


@unprepared("serialized", **FOUR)
def bag_with_one_lease(client: Client, has_cause: bool) -> None:
    semaphore = Semaphore(max_leases=1, name="licence") if has_cause else None
    bag = db.from_sequence(range(24), npartitions=24)
    bag.map(tasks.with_lease, seconds=0.3, semaphore=semaphore).compute()


@unprepared("small-tasks", **TWO_BY_TWO)
def bag_of_tiny_tasks(client: Client, has_cause: bool) -> None:
    if has_cause:
        wait(client.map(tasks.tiny, range(4_000), pure=False))
    else:
        wait(client.map(tasks.many_tiny, [list(range(100))] * 40, pure=False))


@unprepared("waiting-outside", **TWO_BY_TWO)
def bag_that_asks_a_slow_service(client: Client, has_cause: bool) -> None:
    with service(0.5 if has_cause else 0) as url:
        bag = db.from_sequence(range(48), npartitions=48)
        bag.map(partial(tasks.ask, url=url)).compute()


@unprepared("client", **TWO_BY_TWO)
def delayed_graphs_that_are_built_slowly(client: Client, has_cause: bool) -> None:
    """The client's own code makes each graph: nothing runs meanwhile."""
    for _ in range(6):
        parts = []
        for _ in range(8):
            if has_cause:
                time.sleep(0.1)
            parts.append(dask.delayed(tasks.fit)(0.25))
        dask.compute(*parts)


@unprepared("few-tasks|narrow-stage", has_cost=False, **TWO_BY_TWO)
def delayed_chain(client: Client, has_cause: bool) -> None:
    """Thirty rounds of 0.2 s, each of which needs the one before."""
    step = dask.delayed(tasks.fit)(0.2)
    for _ in range(29):
        step = dask.delayed(tasks.fit)(0.2 if has_cause else 0, step)
    client.compute(step, optimize_graph=False).result()


@unprepared("serialized", "client", **TWO_BY_TWO)
def delayed_writes_into_one_file_between_pauses(client: Client, has_cause: bool) -> None:
    """Two causes: a file that one may write at a time, and a client that thinks between its steps."""
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(3):
            path = file.name if has_cause else None
            dask.compute(*(dask.delayed(tasks.write_file)(number, 0.25, path) for number in range(8)))
            time.sleep(1.5 if has_cause else 0)
