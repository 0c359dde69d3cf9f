"""What the tasks of the unprepared workloads do. Workers import this, and nothing of Django."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import types
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Lock, Semaphore, get_worker
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from observatory.agent.worker.profiles.task_threads import METRIC as TASK_THREADS

KEPT: list[np.ndarray] = []
THROWN_AWAY: list[bool] = []
FITTED: list[float] = []
"""seconds that threads have spent in `fit`"""


class FitsCompute(WorkerPlugin):
    """Reports the CPU that threads in `fit` would have used if they had computed: the mean since before."""

    def setup(self, worker: Any) -> None:
        before = [time.monotonic(), 0.0]

        def measure(worker: Any) -> dict[str, float]:
            now, fitted = time.monotonic(), sum(FITTED)
            share = (fitted - before[1]) / max(now - before[0], 0.001)
            before[:] = now, fitted
            return {"cpu": 100.0 * share}

        worker.metrics[TASK_THREADS] = measure


class TenMilliseconds(SchedulerPlugin):
    """Takes its time at each transition of a task."""

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        time.sleep(0.01)


def fit(seconds: float, *needed: Any) -> float:
    """Stands for computing: naps, so that a machine with few cores runs as many as there are threads.

    Workers with the plugin `FitsCompute` report the CPU that it would use.
    """
    stop = time.monotonic() + seconds
    while (left := stop - time.monotonic()) > 0:
        nap = min(left, 0.05)
        time.sleep(nap)
        FITTED.append(nap)
    return seconds


def block(values: np.ndarray, seconds: float) -> np.ndarray:
    fit(seconds)
    return values + 1


def transform(part: pd.DataFrame, seconds_a_row: float) -> pd.DataFrame:
    fit(len(part) * seconds_a_row)
    return part


def slow_city(part: pd.DataFrame, city: int, seconds: float, others: float) -> pd.DataFrame:
    fit(seconds if part.city.iloc[0] == city else others)
    return part


def import_heavy(part: pd.DataFrame, seconds: float, is_slow: bool) -> pd.DataFrame:
    """Imports a library that takes two seconds to import, as its first use in this process."""
    lock = sys.modules.setdefault("heavy_library_lock", types.ModuleType("heavy_library_lock"))
    guard = lock.__dict__.setdefault("lock", threading.Lock())
    with guard:
        if is_slow and "heavy_library" not in sys.modules:
            fit(2)
            sys.modules["heavy_library"] = types.ModuleType("heavy_library")
    return transform(part, seconds / max(len(part), 1))


def connect_once(number: int, seconds: float, is_slow: bool) -> int:
    """Sets up its connection at the first use on each thread."""
    local = sys.modules.setdefault("connections", types.ModuleType("connections")).__dict__
    connections = local.setdefault("connections", threading.local())
    if not hasattr(connections, "connection"):
        connections.connection = number
        fit(2.0 if is_slow else 0)
    fit(seconds)
    return number


def keep(number: int, nbytes: int, seconds: float, is_leaking: bool) -> int:
    """Puts memory aside; some seconds after it has become too much, it is thrown away, once and for all."""
    fit(seconds)
    if is_leaking and len(KEPT) < 12 and not THROWN_AWAY:
        KEPT.append(np.ones(nbytes, np.uint8))
        if len(KEPT) == 9:
            threading.Timer(5, _throw_away).start()
    return number


def _throw_away() -> None:
    KEPT.clear()
    THROWN_AWAY.append(True)


def in_turn(number: int, seconds: float, name: str | None) -> int:
    with Lock(name) if name else contextlib.nullcontext():
        fit(seconds)
    return number


def with_lease(number: int, seconds: float, semaphore: Semaphore | None) -> int:
    with semaphore if semaphore else contextlib.nullcontext():
        fit(seconds)
    return number


def write_file(number: int, seconds: float, path: str | None) -> int:
    """Writes into one file, which one may write at a time."""
    import fcntl

    if path is None:
        fit(seconds)
        return number
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fit(seconds)
    return number


def ask(number: int, url: str) -> int:
    return len(urllib.request.urlopen(f"{url}/{number}", timeout=30).read())


def query(number: int, seconds: float) -> int:
    """A database that answers late."""
    time.sleep(seconds)
    return number


def throttled(number: int, seconds: float, name: int | None, factor: float) -> int:
    fit(seconds * (factor if get_worker().name == name else 1))
    return number


def flaky(number: int, seconds: float, folder: str | None) -> int:
    fit(seconds)
    if folder:
        tries = Path(folder) / f"{number}-{os.urandom(4).hex()}"
        if len(list(Path(folder).glob(f"{number}-*"))) < 2:
            tries.touch()
            raise ConnectionResetError("the service hung up")
    return number


def raises(number: int) -> int:
    if number == 17:
        raise KeyError("no such station")
    return number


def dies_once(number: int, seconds: float, path: str | None) -> int:
    fit(seconds)
    if path and number == 9 and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def block_loop(seconds: float, times: int, dask_worker: Any = None) -> None:
    """Coroutines that sleep instead of awaiting, on the event loop of the worker that Dask gives."""
    loop = dask_worker.loop
    for number in range(times):
        loop.add_callback(loop.call_later, number * seconds * 1.2, time.sleep, seconds)


def row(number: int, nbytes: int) -> np.ndarray:
    return np.full(nbytes, number % 250, np.uint8)


def total(values: np.ndarray, seconds: float) -> int:
    fit(seconds)
    return int(values.sum())


def tiny(number: int) -> int:
    return number + 1


def many_tiny(numbers: list[int]) -> int:
    return sum(tiny(number) for number in numbers)
