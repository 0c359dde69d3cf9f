"""Workloads of mixed shapes: tasks that submit tasks, actors, loops of the client, stages, bags and arrays.

Written from the words of the issue alone, before a detector was looked at and before any of them ran. One
half of them is judged, the detectors are mended, and then the other half is judged once.
"""

from __future__ import annotations

import ctypes
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Future, as_completed, get_worker, wait, worker_client

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.service import service
from benchmarks.unprepared.tasks import ask, fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
TWO_BY_FOUR = {"n_workers": 2, "threads_per_worker": 4}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
FIVE = {"n_workers": 5, "threads_per_worker": 1}
SIX = {"n_workers": 6, "threads_per_worker": 1}
EIGHT = {"n_workers": 8, "threads_per_worker": 1}
NOT_THREAD_SAFE = threading.Lock()


def analyse(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def direct(parts: int, seconds: float, is_one_by_one: bool) -> int:
    """A task that gives its parts to the cluster."""
    with worker_client() as client:
        if is_one_by_one:
            return sum(client.submit(analyse, one, seconds, pure=False).result() for one in range(parts))
        return sum(client.gather(client.map(analyse, range(parts), seconds=seconds, pure=False)))


def parse(number: int, seconds: float, is_locked: bool) -> int:
    """With a library that one thread of a process may use at a time."""
    fit(0.1)
    with NOT_THREAD_SAFE if is_locked else nullcontext():
        fit(seconds)
    return number


def load(number: int, megabytes: int, seconds: float = 0.0) -> np.ndarray:
    fit(seconds)
    return np.full(megabytes * 1_000_000, number % 200, np.uint8)


def summarize(values: np.ndarray, seconds: float) -> int:
    fit(seconds)
    return int(values[:100].sum())


def fetch(number: int, folder: str | None) -> int:
    """Is cut off after a while, the first time that each third one is asked for."""
    fit(0.4)
    if folder and number % 3 == 0 and not (Path(folder) / str(number)).exists():
        (Path(folder) / str(number)).touch()
        fit(0.8)
        raise TimeoutError(f"no answer of station {number}")
    return number


def on_machine(number: int, seconds: float, slow: tuple[int, ...], *needed: Any) -> int:
    """Three times as long on the slow ones."""
    fit(seconds * (3 if get_worker().name in slow else 1))
    return number


def call_library(number: int, seconds: float, is_holding: bool) -> int:
    """Calls C that holds the interpreter's lock, or doesn't."""
    library = ctypes.PyDLL(None) if is_holding else ctypes.CDLL(None)
    library.usleep(int(seconds * 1e6))
    return number


def gradient(number: int, seconds: float, path: str | None) -> int:
    """Its process is killed once, in the middle of the second round."""
    fit(seconds)
    if path and number == 23 and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def predict(model: np.ndarray, number: int) -> int:
    fit(0.15)
    return int(model[number])


class Parameters:
    """Of a model, in one place, to which tasks add what they found."""

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, change: float) -> float:
        self.value += change
        return self.value


def learn(number: int, seconds: float, parameters: Any) -> float:
    fit(seconds)
    return float(parameters.add(1.0).result())


def copy_and_check(number: int) -> int:
    """Writes a file of 12 MB to the disk, and reads it again."""
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(3):
            file.write(os.urandom(4_000_000))
            file.flush()
            os.fsync(file.fileno())
        return sum(Path(file.name).read_bytes()[::1000]) + number


def read_from_store(number: int, url: str) -> int:
    ask(number, url)
    fit(0.1)
    return number


@unprepared("few-tasks|narrow-stage", **FOUR)
def task_that_asks_for_its_parts_one_by_one(client: Client, has_cause: bool) -> None:
    client.submit(direct, 24, 0.3, has_cause, pure=False).result()


@unprepared("client", **TWO_BY_THREE)
def files_that_the_client_reads_one_by_one(client: Client, has_cause: bool) -> None:
    """The client reads each file itself, for a fifth of a second, and submits it then."""
    parts = []
    for number in range(40):
        time.sleep(0.2 if has_cause else 0)
        parts.append(client.submit(analyse, number, 0.4, pure=False))
    client.gather(parts)


@unprepared("serialized", "stragglers", **TWO_BY_FOUR)
def library_that_is_not_thread_safe_and_a_long_file(client: Client, has_cause: bool) -> None:
    """Two causes: a lock in each process, and one file of three seconds; in the twin all are as long."""
    parts = [dask.delayed(parse)(number, 0.25, has_cause) for number in range(32)]
    last = [dask.delayed(parse)(99, 3.0 if has_cause else 0.25, False)]
    wait(client.compute(last + parts, optimize_graph=False))


@unprepared("piled-tasks", **FOUR)
def tiles_that_one_worker_has(client: Client, has_cause: bool) -> None:
    """Loaded by one worker; on a cluster without work stealing they are looked at where they are."""
    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    tiles = [
        client.submit(load, one, 4, pure=False, workers=[addresses[0] if has_cause else addresses[one % 4]])
        for one in range(28)
    ]
    wait(tiles)
    client.sync(client.cluster.scheduler.extensions["stealing"].stop)
    wait(client.map(summarize, tiles, seconds=0.3, pure=False))


@unprepared("failure|retries", **FIVE)
def stations_that_the_client_asks_again(client: Client, has_cause: bool) -> None:
    """Each third one times out at first; a loop of the client submits it again."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        where = folder if has_cause else None
        numbers: dict[Future, int] = {
            client.submit(fetch, number, where, pure=False): number for number in range(36)
        }
        answers = as_completed(list(numbers))
        for answer in answers:
            if answer.status == "error":
                again = client.submit(fetch, numbers[answer], where, pure=False)
                numbers[again] = numbers[answer]
                answers.add(again)


@unprepared("slow-worker", **SIX)
def stages_on_unequal_machines(client: Client, has_cause: bool) -> None:
    """Two of six machines take three times as long for everything."""
    slow = (1, 4) if has_cause else ()
    loaded = [dask.delayed(on_machine)(number, 0.3, slow) for number in range(48)]
    cleaned = [dask.delayed(on_machine)(number, 0.3, slow, one) for number, one in enumerate(loaded)]
    wait(client.compute(cleaned, optimize_graph=False))


@unprepared("gil|event-loops", **TWO_BY_THREE)
def library_that_holds_the_interpreter(client: Client, has_cause: bool) -> None:
    bag = db.from_sequence(range(36), npartitions=36)
    bag.map(call_library, seconds=0.3, is_holding=has_cause).compute()


@unprepared("worker-died", "client", **THREE_BY_TWO)
def rounds_of_a_thoughtful_client_and_a_killed_worker(client: Client, has_cause: bool) -> None:
    """Two causes: the client evaluates each round for a second, and a worker's process is killed."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = f"{folder}/killed" if has_cause else None
        for step in range(4):
            numbers = range(step * 18, step * 18 + 18)
            client.gather(client.map(gradient, numbers, seconds=0.5, path=path, pure=False))
            time.sleep(1.0 if has_cause else 0)


@unprepared("large-graph|client|transfers", **THREE_BY_TWO)
def model_in_each_call(client: Client, has_cause: bool) -> None:
    """40 MB of the client in each of 24 calls; the twin makes them once, on a worker."""
    model = np.zeros(40_000_000, np.uint8) if has_cause else client.submit(load, 0, 40, pure=False)
    for step in range(4):
        wait([client.submit(predict, model, step * 6 + one, pure=False) for one in range(6)])


@unprepared("serialized", **TWO_BY_FOUR, resources={"licence": 1})
def solver_with_one_licence_a_machine(client: Client, has_cause: bool) -> None:
    """Dask's resources let one of them run on each worker."""
    asked = {"licence": 1} if has_cause else {}
    prepared = client.map(analyse, range(24), seconds=0.1, pure=False)
    solved = client.map(analyse, prepared, seconds=0.4, resources=asked, pure=False)
    wait(solved)


@unprepared("few-tasks|narrow-stage", **EIGHT)
def archives_in_three_partitions(client: Client, has_cause: bool) -> None:
    """The same rows in three partitions or in 24, for eight workers."""
    rows = pd.DataFrame({"value": np.arange(2400)})
    table = dd.from_pandas(rows, npartitions=3 if has_cause else 24, sort=False)
    table.map_partitions(_read_rows, meta=rows).value.max().compute()


def _read_rows(part: pd.DataFrame) -> pd.DataFrame:
    fit(len(part) * 0.006)
    return part


@unprepared("recomputed", **FOUR)
def questions_that_load_the_table_again(client: Client, has_cause: bool) -> None:
    """Four results of the same loaded parts, computed one after another; the twin asks for all at once."""
    parts = [dask.delayed(analyse)(number, 0.35, dask_key_name=f"read-{number}") for number in range(16)]
    questions: list[Callable[..., Any]] = [sum, max, min, len]
    results = [dask.delayed(question)(parts) for question in questions]
    if has_cause:
        for one in results:
            dask.compute(one)
    else:
        dask.compute(*results)


@unprepared("late-workers", "waiting-outside", n_workers=2, threads_per_worker=1, without=SIX)
def service_that_answers_late_to_a_growing_cluster(client: Client, has_cause: bool) -> None:
    """Two causes: four of six workers come after three seconds, and a service takes its time."""
    if has_cause:
        threading.Timer(3, client.cluster.scale, [6]).start()
    with service(0.4 if has_cause else 0.02) as url:
        wait(client.map(read_from_store, range(60), url=url, pure=False))


@unprepared("small-tasks", **THREE_BY_TWO)
def letters_one_by_one(client: Client, has_cause: bool) -> None:
    """A tree of delayed functions over single letters; the twin has the same in forty pieces."""
    text = "the quick brown fox " * 100
    pieces = list(text) if has_cause else [text[start : start + 50] for start in range(0, len(text), 50)]
    counts = [dask.delayed(len)(dask.delayed(str.upper)(piece)) for piece in pieces]
    client.compute(dask.delayed(sum)(counts), optimize_graph=False).result()


@unprepared(**EIGHT)
def simulations_in_three_stages(client: Client, has_cause: bool) -> None:
    """Heavy, and well divided: many more tasks than threads in each stage."""
    chance = np.random.default_rng(5)
    stages = [client.map(fit, chance.uniform(0.25, 0.5, 96).tolist(), pure=False)]
    for seconds in (0.2, 0.15):
        stages.append([client.submit(fit, seconds, one, pure=False) for one in stages[-1]])
    wait(stages[-1])


@unprepared(**TWO_BY_THREE)
def copies_on_a_disk_that_is_never_idle(client: Client, has_cause: bool) -> None:
    """I/O by nature, and the disk has all the time something to write."""
    wait(client.map(copy_and_check, range(48), pure=False))


@unprepared(**TWO_BY_THREE)
def a_short_question(client: Client, has_cause: bool) -> None:
    frame = pd.DataFrame({"city": np.arange(1200) % 5, "value": 1.0})
    table = dd.from_pandas(frame, npartitions=12, sort=False)
    table.map_partitions(_short, meta=frame).groupby("city").value.sum().compute()


def _short(part: pd.DataFrame) -> pd.DataFrame:
    fit(0.25)
    return part


@unprepared(**FOUR, memory_limit="1GB")
def images_of_many_megabytes(client: Client, has_cause: bool) -> None:
    """1.5 GB in blocks of 16 MB; memory is enough."""
    images = da.ones((96, 2000, 1000), chunks=(1, 2000, 1000), dtype=np.float64)
    smoothed = images.map_blocks(_smooth, 0.35, dtype=float)
    (smoothed.sum(axis=(1, 2)) / (smoothed.shape[1] * smoothed.shape[2])).compute()


def _smooth(values: np.ndarray, seconds: float) -> np.ndarray:
    fit(seconds)
    return (values + np.roll(values, 1, axis=1)) / 2


@unprepared(**THREE_BY_TWO)
def tasks_that_give_their_parts_to_all(client: Client, has_cause: bool) -> None:
    wait([client.submit(direct, 16, 0.4, False, pure=False) for _ in range(6)])


@unprepared(**SIX)
def training_with_an_actor(client: Client, has_cause: bool) -> None:
    parameters = client.submit(Parameters, actor=True).result()
    for _ in range(6):
        wait(client.map(learn, range(12), seconds=0.6, parameters=parameters, pure=False))


MIXED: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def mixed_half(number: int) -> list[Workload]:
    return half_of(MIXED, number)
