"""Workloads of shapes that people ask about: climatologies, shuffles, searches, services, imports, restarts.

Written from the words of those who ask, before the detectors were run on any of them. Whoever wrote them had
read the detectors. Their tasks are their own.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Queue, as_completed, get_client, wait

from benchmarks.unprepared.tasks import fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
SIX = {"n_workers": 6, "threads_per_worker": 1}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
LIBRARY = "from benchmarks.unprepared.tasks import fit\nfit({seconds})\n"


def anomalies(block: np.ndarray, seconds: float) -> np.ndarray:
    """Of the months of twenty years."""
    fit(seconds)
    months = block.reshape(-1, 12, *block.shape[1:])
    return np.asarray((months - months.mean(axis=0)).reshape(block.shape))


def statistics_of(part: pd.DataFrame, seconds_a_row: float) -> pd.DataFrame:
    fit(len(part) * seconds_a_row)
    return part.head(1)


def score(parameter: float) -> float:
    fit(0.5)
    return parameter / 2


def gradient(part: int, model: np.ndarray) -> float:
    fit(0.3)
    return float(model[0]) + part


def locate(part: pd.DataFrame) -> pd.DataFrame:
    import survey_library  # uploaded  # noqa: F401

    fit(0.35)
    return part


def call_service(number: int, tokens: str | None) -> int:
    """A service that takes two calls at once: whoever calls takes a token, and gives it back."""
    fit(0.1)
    token = Queue(tokens, client=get_client()).get() if tokens else None
    try:
        fit(0.4)
    finally:
        if tokens:
            Queue(tokens, client=get_client()).put(token)
    return number


def epoch(number: int, before: Any = None) -> int:
    fit(0.4)
    return number


def _climatology(client: Client, is_by_time: bool) -> None:
    """Anomalies of 20 years need all times of a place; it is written by year."""
    shape = (240, 480, 480)
    chunks = (10, 480, 480) if is_by_time else (240, 80, 120)
    field = da.random.random(shape, chunks=chunks)
    by_place = field.rechunk((240, 80, 120))
    found = by_place.map_blocks(anomalies, 0.3, dtype=float)
    written = found.rechunk((10, 480, 480)) if is_by_time else found
    wait(client.compute(written.map_blocks(np.mean, keepdims=True, chunks=(1, 1, 1)), optimize_graph=True))


def _grouped(client: Client, share: float) -> None:
    """`share` of the rows have one key; the others are spread over 23."""
    rows = 2400
    keys = np.where(np.arange(rows) < share * rows, 0, np.arange(rows) % 24)
    frame = pd.DataFrame({"station": keys, "value": 1.0}).sample(frac=1, random_state=3)
    table = dd.from_pandas(frame, npartitions=24, sort=False).shuffle("station", npartitions=24)
    wait(client.compute(table.map_partitions(statistics_of, 0.006, meta=frame).to_delayed()))


def _search(client: Client, seconds: float) -> None:
    """Each result leads to the next question, about which the client thinks for a while."""
    running = as_completed([client.submit(score, float(one), pure=False) for one in range(6)])
    asked = 6
    for finished in running:
        value = finished.result()
        time.sleep(seconds)
        if asked < 42:
            asked += 1
            running.add(client.submit(score, value, pure=False))


@unprepared("rechunk|transfers", **THREE_BY_TWO)
def climatology_by_time(client: Client, has_cause: bool) -> None:
    _climatology(client, has_cause)


@unprepared("stragglers", **FOUR, memory_limit="500MB")
def station_with_most_rows(client: Client, has_cause: bool) -> None:
    _grouped(client, 0.6 if has_cause else 0.0)


@unprepared("client", **TWO_BY_THREE)
def search_whose_client_thinks(client: Client, has_cause: bool) -> None:
    _search(client, 0.35 if has_cause else 0.0)


@unprepared("other-runs", **THREE_BY_TWO)
def urgent_questions_of_a_colleague(client: Client, has_cause: bool) -> None:
    """A second client with a higher priority asks again and again while the batch runs."""
    done = threading.Event()

    def ask() -> None:
        with Client(client.scheduler.address, set_as_default=False) as colleague:
            while not done.is_set():
                wait([colleague.submit(fit, 0.5, priority=10, pure=False) for _ in range(4)])

    asking = threading.Thread(target=ask)
    if has_cause:
        asking.start()
    wait(client.map(epoch, range(72), pure=False))
    done.set()
    if has_cause:
        asking.join()


@unprepared("client|transfers", **THREE_BY_TWO)
def rounds_with_a_model_for_all(client: Client, has_cause: bool) -> None:
    """The client sends its model of 40 MB to all workers before each of six rounds."""
    for number in range(6):
        model = np.full(5_000_000 if has_cause else 10, float(number))
        sent = client.scatter(model, broadcast=True, hash=False)
        wait(client.map(gradient, range(12), model=sent, pure=False))


@unprepared("first-use", **SIX)
def survey_with_an_uploaded_library(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey_library.py"
        path.write_text(LIBRARY.format(seconds=2.2 if has_cause else 0))
        client.upload_file(str(path), load=False)
    frame = pd.DataFrame({"place": np.arange(96)})
    table = dd.from_pandas(frame, npartitions=48, sort=False)
    wait(client.compute(table.map_partitions(locate, meta=frame).to_delayed()))


@unprepared("serialized|waiting-outside", **TWO_BY_THREE)
def calls_with_two_tokens(client: Client, has_cause: bool) -> None:
    tokens = Queue("tokens", client=client)
    for number in range(2):
        tokens.put(number)
    wait(client.map(call_service, range(36), tokens="tokens" if has_cause else None, pure=False))


@unprepared(**THREE_BY_TWO)
def climatology_by_place(client: Client, has_cause: bool) -> None:
    _climatology(client, is_by_time=False)


@unprepared(**FOUR)
def stations_with_as_many_rows(client: Client, has_cause: bool) -> None:
    _grouped(client, 0.0)


@unprepared(**TWO_BY_THREE)
def search_that_goes_on_at_once(client: Client, has_cause: bool) -> None:
    _search(client, 0.0)


@unprepared(**THREE_BY_TWO)
def epochs_with_planned_restarts(client: Client, has_cause: bool) -> None:
    """Between two epochs the client restarts all workers, to free what libraries keep."""
    wait(client.map(epoch, range(60), pure=False))
    client.restart()
    wait(client.map(epoch, range(60), pure=False))


ISSUES: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half."""
