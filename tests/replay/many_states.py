"""A cluster whose tasks do all that tasks can do, and what a plugin of the scheduler wrote down of them.

Its workers import this, and nothing of Django with it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dask.utils import key_split
from distributed import Client, LocalCluster, SchedulerPlugin, get_client, secede, wait

import observatory.agent

TRIED = Path("tried")


class Recorder(SchedulerPlugin):
    """Writes each transition as a line of JSON: time, key, prefix, states before and after."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w")

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        self.file.write(json.dumps([time.time(), str(key), key_split(key), start, finish]) + "\n")


def steady(number: int) -> int:
    time.sleep(0.05)
    return number


def needs(number: int) -> int:
    time.sleep(0.02)
    return number


def never(number: int) -> int:
    raise ValueError(number)


def at_the_second_attempt(folder: str, number: int) -> int:
    path = Path(folder) / f"{TRIED}-{number}"
    time.sleep(0.02)
    if path.exists():
        return number
    path.touch()
    raise ValueError(number)


def once_it_is_mended(folder: str, number: int) -> int:
    if not (Path(folder) / "mended").exists():
        raise ValueError(number)
    return number


def secedes(number: int) -> int:
    secede()
    return int(get_client().submit(steady, number, key=f"steady-within-{number}").result()) + number


def long(number: int) -> int:
    time.sleep(1.5)
    return number


def die() -> None:
    os._exit(1)


def first_run(client: Client, folder: str) -> list[Any]:
    """Retries, errors and tasks that need them, queued ones, a lost worker, cancelled ones."""
    held = client.map(steady, range(40), pure=False)
    failed = client.map(never, range(3), pure=False, retries=1)
    held += client.map(needs, failed, pure=False)
    held += client.map(at_the_second_attempt, [folder] * 5, range(5), retries=2)
    mended = client.map(once_it_is_mended, [folder] * 4, range(4), pure=False)
    wait([*held, *failed, *mended])
    (Path(folder) / "mended").touch()
    client.retry(mended)
    held += client.map(secedes, range(2), pure=False)
    wait([*held, *mended])
    cancelled = client.map(long, range(12), pure=False)
    time.sleep(0.3)
    client.cancel(cancelled)
    address = next(iter(client.scheduler_info()["workers"]))
    with suppress(Exception):
        client.run(die, workers=[address])
    wait(held)
    return [*held, *failed, *mended]


def second_run(client: Client, held: list[Any]) -> list[Any]:
    """Equal prefixes; what the first one held is released while it runs."""
    chained = client.map(needs, client.map(steady, range(100, 140), pure=False), pure=False)
    time.sleep(0.4)
    held.clear()
    wait(chained)
    return chained


@contextmanager
def recorded(url: str, token: str, folder: Path) -> Iterator[list[tuple[float, float]]]:
    """Fills a list of windows in which the cluster worked, while that cluster exists."""
    windows: list[tuple[float, float]] = []
    workers = {"n_workers": 3, "threads_per_worker": 1, "silence_logs": "CRITICAL"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        observatory.agent.register(client, url=url, token=token, name="states", flush_interval="1s")
        recorder = Recorder(folder / "transitions.jsonl")
        cluster.scheduler.add_plugin(recorder, name="recorder")
        begun = time.time()
        held = first_run(client, str(folder))
        windows.append((begun, time.time()))
        time.sleep(1)
        with Client(cluster) as other:
            concurrent = other.map(long, range(20, 24), pure=False)
            begun = time.time()
            chained = second_run(client, held)
            windows.append((begun, time.time()))
            wait(concurrent)
            windows.append((begun + 0.6, time.time()))
            del concurrent
        del chained
        yield windows
    recorder.file.close()
