"""What the tasks of `bug_reports` do. Workers import this, and no collection of Dask."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed.diagnostics.plugin import WorkerPlugin

from benchmarks.unprepared.tasks import fit

WHOLE_ARCHIVE = 900_000_000
"""bytes, more than a worker may have"""


class Installs(WorkerPlugin):
    """Installs packages when it is set up, while the event loop of its worker waits."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def setup(self, worker: Any) -> None:
        time.sleep(self.seconds)


class ImageFile:
    """Compresses what is written into it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __setitem__(self, region: Any, values: np.ndarray) -> None:
        fit(self.seconds)


def part(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def locate(addresses: list[int], asked: float) -> list[int]:
    """Asks a service for each address, one after another, if that takes any time."""
    for _ in addresses:
        if asked:
            time.sleep(asked)
        fit(0.15)
    return addresses


def district(address: int) -> int:
    return address % 4


def counted(count: int, address: int) -> int:
    return count + 1


def add_counts(count: int, other: int) -> int:
    fit(0.03)
    return count + other


def image(block: np.ndarray, seconds: float) -> np.ndarray:
    fit(seconds)
    return block + 1


def diffuse(field: np.ndarray, seconds: float) -> np.ndarray:
    fit(seconds)
    return field + 0.1 * (np.roll(field, 1) + np.roll(field, -1) - 2 * field)


def read_archive(number: int, seconds: float, killed: str | None) -> np.ndarray:
    """One of them reads all that there is at once, unless a file says that it was killed for it before."""
    if killed and number == 24 and not Path(killed).exists():
        Path(killed).touch()
        whole = np.ones(WHOLE_ARCHIVE, np.uint8)
        fit(5)
        return whole[:1_000_000]
    fit(seconds)
    return np.full(1_000_000, number % 250, np.uint8)


def summed(parts: list[np.ndarray]) -> int:
    return sum(int(one.sum()) for one in parts)


def predict(rows: pd.DataFrame, model: int, seconds: float, folder: str | None) -> pd.DataFrame:
    """The store of results refuses two of the partitions at their first attempt, if there is a folder."""
    fit(seconds)
    number = int(rows.number.iloc[0])
    if folder and number in (4, 9):
        tried = Path(folder) / f"{model}-{number}"
        if not tried.exists():
            tried.touch()
            raise TimeoutError("the store of results did not answer")
    return rows.assign(predicted=float(model))


def month(seconds: float) -> pd.DataFrame:
    fit(seconds)
    return pd.DataFrame({"rows": [round(seconds * 1000)]})


def opens(key: int) -> bool:
    """Whether it is the key that is searched for."""
    fit(0.4)
    return key == 75
