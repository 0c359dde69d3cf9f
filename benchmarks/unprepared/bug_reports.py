"""Small workloads in the shapes of bug reports: what people told when their Dask was slow, with the causes
that were found in the end.

Written by somebody who had seen neither the detectors nor any finding. Before their digests were committed
they had run without Observatory, to see how long they take. One half of them is judged, the detectors are
mended, and then the other half is judged once.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.graph_manipulation import wait_on
from distributed import Client, Lock, as_completed, wait

from benchmarks.unprepared.bug_report_tasks import (
    ImageFile,
    Installs,
    add_counts,
    counted,
    diffuse,
    district,
    image,
    locate,
    month,
    opens,
    part,
    predict,
    read_archive,
    summed,
)
from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
TWO_BY_FOUR = {"n_workers": 2, "threads_per_worker": 4}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
MONTHS = [6.0, 4.0, 4.0, 3.0, 3.0, 2.0] + [0.4] * 35
"""seconds that the months of a table take, the longest first: six threads are busy as long as the first"""


@unprepared("waiting-outside", "narrow-stage|stragglers", **TWO_BY_FOUR)
def addresses_asked_for_and_counted_by_one_task(client: Client, has_cause: bool) -> None:
    """A service is asked for each address, and one task adds the counts of 40 partitions (dask#2668).

    The twin asks nobody, and adds four counts at a time.
    """
    addresses = db.from_sequence(range(160), npartitions=40)
    located = addresses.map_partitions(locate, asked=0.16 if has_cause else 0.0)
    counts = located.foldby(
        district, counted, 0, add_counts, combine_initial=0, split_every=False if has_cause else 4
    )
    client.compute(counts).result()


@unprepared("serialized", **TWO_BY_THREE)
def images_stored_under_the_lock_of_their_file(client: Client, has_cause: bool) -> None:
    """24 blocks of an array are written under one lock, as HDF5 wants it (dask#3074); the twin's without."""
    images = da.zeros((24, 50), chunks=(1, 50)).map_blocks(image, seconds=0.9, dtype=float)
    stored = da.store(images, ImageFile(0.35), lock=Lock("file") if has_cause else False, compute=False)
    client.compute(stored).result()


@unprepared("recomputed", **TWO_BY_TWO)
def field_computed_from_its_beginning_each_time(client: Client, has_cause: bool) -> None:
    """Five steps of a simulation, after each of which its largest value is looked at (dask#3902).

    The twin persists the field after each step.
    """
    field = da.arange(8000, chunks=2000).astype(float)
    for _ in range(5):
        field = field.map_blocks(diffuse, dtype=float, seconds=0.7)
        if not has_cause:
            field = client.persist(field)
        client.compute(field.max()).result()


@unprepared("event-loops", **THREE_BY_TWO)
def packages_installed_while_tasks_run(client: Client, has_cause: bool) -> None:
    """A plugin that installs packages is registered after the tasks were submitted (distributed#3216)."""
    futures = client.map(part, range(60), seconds=0.5, pure=False)
    time.sleep(1)
    client.register_plugin(Installs(4 if has_cause else 0), name="installs")
    wait(futures)


@unprepared("worker-died|memory-full", memory_limit="800MB", **TWO_BY_TWO)
def archive_that_does_not_fit_into_memory(client: Client, has_cause: bool) -> None:
    """A task needs more memory than its worker has: the nanny ends the worker, and its results are lost."""
    with tempfile.TemporaryDirectory() as folder:
        killed = str(Path(folder) / "killed") if has_cause else None
        parts = client.map(read_archive, range(40), seconds=0.45, killed=killed, pure=False)
        client.submit(summed, parts).result()


@unprepared("client", **TWO_BY_THREE)
def rounds_whose_end_is_looked_for_now_and_then(client: Client, has_cause: bool) -> None:
    """Six rounds of 0.8 seconds; every 1.5 seconds the client looks whether the tasks are done."""
    for _ in range(6):
        futures = client.map(part, range(12), seconds=0.4, pure=False)
        while has_cause and not all(future.done() for future in futures):
            time.sleep(1.5)
        wait(futures)


@unprepared("narrow-stage|stragglers", **TWO_BY_THREE)
def stations_that_wait_for_the_slowest_one(client: Client, has_cause: bool) -> None:
    """24 stations in two steps, of which no second one begins before all first ones have ended (dask#7109).

    One of them takes six seconds, and begins first; the twin's others go on without it.
    """
    with dask.annotate(priority=1):
        slowest = dask.delayed(part)(0, 6.0)
    read = [slowest, *(dask.delayed(part)(number, 0.5) for number in range(1, 24))]
    if has_cause:
        read = list(wait_on(*read))
    client.compute(dask.delayed(sum)([dask.delayed(part)(one, 1.0) for one in read])).result()


@unprepared("client", "retries", **THREE_BY_TWO)
def predictions_tried_by_the_client_and_refused_at_first(client: Client, has_cause: bool) -> None:
    """Four models predict, and two partitions of twelve have to be tried again (dask#1474).

    The client calls each model with two rows to see which columns come of it; the twin's knows it.
    """
    rows = dd.from_pandas(pd.DataFrame({"number": np.arange(12)}), npartitions=12)
    columns = pd.DataFrame({"number": np.arange(0), "predicted": np.arange(0.0)})
    known = {} if has_cause else {"meta": columns}
    with tempfile.TemporaryDirectory() if has_cause else contextlib.nullcontext() as folder:
        for model in range(4):
            predicted = rows.map_partitions(predict, model, 0.6, folder, **known)
            client.compute(predicted, retries=3).result()


@unprepared(**THREE_BY_TWO)
def months_of_which_the_longest_come_first(client: Client, has_cause: bool) -> None:
    """Months that take 0.4 to six seconds, in an order that keeps all threads busy until the end."""
    wait(client.map(month, MONTHS, pure=False))


@unprepared(**TWO_BY_THREE)
def search_that_stops_when_it_has_found(client: Client, has_cause: bool) -> None:
    """Tries keys until one opens, and cancels the others: that was planned."""
    keys = client.map(opens, range(200), pure=False)
    for key in as_completed(keys):
        if key.result():
            break
    client.cancel(keys)


BUG_REPORTS: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def bug_reports_half(number: int) -> list[Workload]:
    return half_of(BUG_REPORTS, number)
