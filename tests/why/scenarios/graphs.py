"""Scenarios of graphs that are large, and of arrays whose chunks don't fit what is computed."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait

from tests.why.scenarios.scenario import seeded
from tests.why.scenarios.tasks import sleep

MIB = 1 << 20


@seeded("large-graph")
def arrays_in_the_graph(client: Client, has_cause: bool) -> None:
    """Eight arrays of 50 MiB that the client has made."""
    count = 50 * MIB if has_cause else 1
    parts = [dask.delayed(sleep)(0.5, np.full(count, place, np.uint8)) for place in range(8)]
    wait(client.compute(parts, optimize_graph=False))


@seeded("large-graph", is_judged=True)
def table_in_each_task(client: Client, has_cause: bool) -> None:
    """A dictionary that each task looks something up in."""
    names = {number: f"name of {number}" for number in range(400_000 if has_cause else 1)}
    wait(client.map(sleep, [0.5] * 12, [dict(names) for _ in range(12)], pure=False))


@seeded("rechunk")
def columns_where_rows_are_needed(client: Client, has_cause: bool) -> None:
    """Sorted along rows, whose chunks are columns."""
    size = 8_000
    array = da.random.random((size, size), chunks=(size, 200) if has_cause else (200, size))
    if has_cause:
        array = array.rechunk((200, size), method="tasks")
    client.compute(array.sum(axis=1).sum()).result(120)


@seeded("rechunk", is_judged=True)
def chunks_that_change_at_each_step(client: Client, has_cause: bool) -> None:
    size = 5_000
    array = da.random.random((size, size), chunks=(size, 250))
    for step in range(4):
        if has_cause:
            array = array.rechunk((250, size) if step % 2 == 0 else (size, 250))
        array = array + 1
    client.compute(array.sum()).result(120)
