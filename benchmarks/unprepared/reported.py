"""Workloads of what people report: many small files, thin chunks, slow pickling, a worker with a full disk.

Written from such reports, and before any of them ran. Whoever wrote them had read the detectors. One half of
them is judged, the detectors are mended, and then the other half is judged once.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, get_client, get_worker, wait, worker_client

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.neighbours import busy_neighbours
from benchmarks.unprepared.tasks import fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FOUR_BY_TWO = {"n_workers": 4, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
SIX = {"n_workers": 6, "threads_per_worker": 1}
EIGHT = {"n_workers": 8, "threads_per_worker": 1}
MEASURED = pd.DataFrame({"station": [0], "value": [1.0]})


def read_csv(path: str) -> pd.DataFrame:
    return pd.read_csv(path)


def smooth(values: np.ndarray, seconds_a_row: float) -> np.ndarray:
    fit(len(values) * seconds_a_row)
    return values


def summarize(number: int, rows: int) -> pd.DataFrame:
    """The sums of one file by customer, of whom nearly each one is another."""
    fit(0.3)
    return pd.DataFrame({"customer": np.arange(rows) + number, "price": 1.0})


def merged(parts: list[pd.DataFrame], share: float) -> int:
    """Sums of all files, for this share of the customers."""
    rows = sum(map(len, parts))
    fit(rows * share * 1e-5)
    return rows


def image(number: int, megabytes: int) -> np.ndarray:
    fit(0.1)
    return np.full(megabytes * 1_000_000, number % 200, np.uint8)


def compare_with_mean(values: np.ndarray) -> float:
    fit(0.1)
    return float(values[::1000].mean())


def score(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def report(number: int, parts: int, is_seceding: bool) -> int:
    """Gives its parts to the cluster, and waits for them."""
    with worker_client() if is_seceding else contextlib.nullcontext(get_client()) as client:
        return sum(client.gather(client.map(score, range(parts), seconds=0.3, pure=False)))


class Trace:
    """An object whose fields take their time to be pickled."""

    def __init__(self, number: int, seconds: float) -> None:
        self.number, self.seconds = number, seconds

    def __reduce__(self) -> tuple[type[Trace], tuple[int, float]]:
        time.sleep(self.seconds)
        return Trace, (self.number, self.seconds)


def trace(number: int, seconds: float) -> Trace:
    fit(0.2)
    return Trace(number, seconds)


def compare(one: Trace, other: Trace) -> int:
    fit(0.2)
    return one.number - other.number


def kernel(number: int, seconds: float, to_compile: float) -> int:
    """Is compiled at its first call in a process; other threads wait until it is."""
    module = sys.modules.setdefault("compiled_kernels", types.ModuleType("compiled_kernels")).__dict__
    with module.setdefault("lock", threading.Lock()):
        if "kernel" not in module:
            fit(to_compile)
            module["kernel"] = True
    fit(seconds)
    return number


def write_part(number: int, full: str) -> int:
    fit(0.3)
    if str(get_worker().name) == full:
        raise OSError(28, "No space left on device")
    return number


def month(number: int) -> pd.DataFrame:
    fit(0.5)
    values = np.random.default_rng(number).integers(0, 100_000, 2000)
    return pd.DataFrame({"station": values, "value": 1.0})


def into_database(number: int, path: str) -> int:
    """Computes, and writes in a transaction of its own."""
    fit(0.2)
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        database.execute("CREATE TABLE IF NOT EXISTS results (number INTEGER)")
        fit(0.12)
        database.execute("INSERT INTO results VALUES (?)", (number,))
        database.execute("COMMIT")
    return number


def question(number: int, unanswered: int) -> int:
    fit(0.3)
    if number == unanswered:
        threading.Event().wait(60)
    return number


def on_machine(number: int, slow: str) -> int:
    fit(0.75 if str(get_worker().name) == slow else 0.25)
    return number


def logged(number: int) -> int:
    log = logging.getLogger("simulation")
    for step in range(100):
        log.warning("simulation %s is at step %s", number, step)
        fit(0.006)
    return number


def filtered(part: pd.DataFrame, least: float) -> pd.DataFrame:
    fit(0.25)
    return part[part.value > least]


@unprepared("small-tasks|scheduler-busy|large-graph", **THREE_BY_TWO)
def table_of_many_small_files(client: Client, has_cause: bool) -> None:
    """600 files of twenty rows; the twin has the same rows in twelve files."""
    files, rows = (600, 20) if has_cause else (12, 1000)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{number}.csv" for number in range(files)]
        table = pd.DataFrame({"station": np.arange(rows) % 20, "value": 1.0}).to_csv(index=False)
        for path in paths:
            Path(path).write_text(table)
        dd.from_map(read_csv, paths, meta=MEASURED).groupby("station").value.mean().compute()


@unprepared("few-tasks|narrow-stage|transfers", **FOUR)
def customers_grouped_into_one_partition(client: Client, has_cause: bool) -> None:
    """Nearly each row is of another customer, and one task merges them all; the twin has eight of these."""
    parts = [dask.delayed(summarize)(number, 20_000) for number in range(24)]
    count = 1 if has_cause else 8
    wait(client.compute([dask.delayed(merged)(parts, 1 / count) for _ in range(count)], optimize_graph=False))


@unprepared("small-tasks|scheduler-busy|large-graph|rechunk", **TWO_BY_THREE)
def field_smoothed_in_thin_slices(client: Client, has_cause: bool) -> None:
    """Each chunk has eight rows, and needs two of each neighbour."""
    field = da.ones((1200, 50), chunks=(8 if has_cause else 100, 50))
    client.compute(
        field.map_overlap(smooth, depth={0: 2}, boundary="none", seconds_a_row=0.002).sum()
    ).result()


@unprepared("memory-full|growing-memory", **FOUR, memory_limit="400MB")
def images_persisted_beyond_memory(client: Client, has_cause: bool) -> None:
    """1.2 GB are kept, and looked at twice; the workers have 1.6 GB together, with all that they import."""
    images = client.map(image, range(60), megabytes=20 if has_cause else 1, pure=False)
    for _ in range(2):
        wait(client.map(compare_with_mean, images, pure=False))


@unprepared("client", **TWO_BY_THREE)
def answers_that_the_client_stores_one_by_one(client: Client, has_cause: bool) -> None:
    """The loop over what has completed takes 0.15 s for each."""
    for _ in as_completed(client.map(score, range(60), seconds=0.4, pure=False), with_results=True):
        time.sleep(0.15 if has_cause else 0)


@unprepared("waiting-outside", **TWO_BY_THREE)
def reports_that_keep_their_threads(client: Client, has_cause: bool) -> None:
    """Four of six threads wait for parts, which the other two compute; in the twin they leave the pool."""
    wait(client.map(report, range(4), parts=12, is_seceding=not has_cause, pure=False))


@unprepared("event-loops|transfers", **FOUR)
def objects_that_are_slow_to_pickle(client: Client, has_cause: bool) -> None:
    seconds = 0.3 if has_cause else 0.0
    traces = client.map(trace, range(40), seconds=seconds, pure=False)
    wait([client.submit(compare, one, traces[(place + 13) % 40]) for place, one in enumerate(traces)])


@unprepared("first-use", "stragglers", **FOUR_BY_TWO)
def kernels_compiled_at_first_and_a_long_one(client: Client, has_cause: bool) -> None:
    """Two causes, on a busy machine."""
    with busy_neighbours(2):
        seconds = [0.3] * 62 + [4.0 if has_cause else 0.3] * 1
        wait(client.map(kernel, range(63), seconds, to_compile=2.5 if has_cause else 0.0, pure=False))


@unprepared("retries|failure", **FOUR)
def worker_with_a_full_disk(client: Client, has_cause: bool) -> None:
    """What it writes fails, and is tried again, by another one if there is luck."""
    wait(client.map(write_part, range(80), full="2" if has_cause else "", retries=30, pure=False))


@unprepared("recomputed", **THREE_BY_TWO)
def table_read_again_for_its_index(client: Client, has_cause: bool) -> None:
    """`set_index` reads all to find its divisions, and again to sort; the twin keeps what it has read."""
    table = dd.from_map(month, range(24), meta=MEASURED)
    if not has_cause:
        table = table.persist()
    wait(table.set_index("station").persist())


@unprepared("large-graph|client|transfers", **TWO_BY_THREE)
def closures_that_carry_a_table(client: Client, has_cause: bool) -> None:
    """Each function of a loop has 6 MB in its closure."""
    steps = []
    for number in range(50):
        table = np.random.default_rng(number).bytes(6_000_000 if has_cause else 1000)
        steps.append(dask.delayed(lambda seconds, table=table: fit(seconds) + len(table))(0.2))
    wait(client.compute(steps, optimize_graph=False))


@unprepared("serialized|waiting-outside", **EIGHT)
def results_in_one_database_file(client: Client, has_cause: bool) -> None:
    """SQLite has one writer at a time; each result of the twin has a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{0 if has_cause else number}.sqlite" for number in range(64)]
        wait(client.map(into_database, range(64), paths, pure=False))


@unprepared("unfinished", **TWO_BY_TWO)
def question_that_is_never_answered(client: Client, has_cause: bool) -> None:
    """The client gives up after eight seconds."""
    questions = client.map(question, range(40), unanswered=7 if has_cause else -1, pure=False)
    with contextlib.suppress(TimeoutError):
        wait(questions, timeout=8)
    client.cancel([one for one in questions if one.status == "pending"])


@unprepared("client", "slow-worker", **SIX)
def rounds_of_a_slow_client_on_unequal_machines(client: Client, has_cause: bool) -> None:
    for number in range(8):
        wait(client.map(on_machine, range(24), slow="2" if has_cause else "", pure=False))
        time.sleep(0.6 if has_cause and number < 7 else 0)


@unprepared(**TWO_BY_THREE)
def tasks_that_log_each_step(client: Client, has_cause: bool) -> None:
    wait(client.map(logged, range(48), pure=False))


@unprepared(**FOUR)
def simulations_beside_busy_neighbours(client: Client, has_cause: bool) -> None:
    """Healthy work on a busy machine."""
    with busy_neighbours(2):
        chance = np.random.default_rng(3)
        wait(client.map(fit, chance.uniform(0.3, 0.45, 64).tolist(), pure=False))


@unprepared(**THREE_BY_TWO)
def months_smoothed_over_their_edges(client: Client, has_cause: bool) -> None:
    field = da.ones((4800, 50), chunks=(100, 50))
    client.compute(
        field.map_overlap(smooth, depth={0: 5}, boundary="none", seconds_a_row=0.004).sum()
    ).result()


@unprepared(**TWO_BY_THREE)
def published_table_that_is_asked_three_times(client: Client, has_cause: bool) -> None:
    table = dd.from_map(month, range(24), meta=MEASURED).persist()
    client.publish_dataset(measurements=table)
    for least in (0.1, 0.5, 0.9):
        part = client.get_dataset("measurements")
        part.map_partitions(filtered, least, meta=MEASURED).value.sum().compute()


REPORTED: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def reported_half(number: int) -> list[Workload]:
    return half_of(REPORTED, number)
