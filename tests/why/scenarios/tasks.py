"""What the tasks of scenarios do. Workers import this, and nothing of Django.

Tasks sleep instead of computing, so that a machine with few cores runs as many as there are threads; workers
with the plugin `AsIfTheyComputed` say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import queue
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from distributed import Reschedule, get_worker, secede, worker_client
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from tornado.ioloop import PeriodicCallback

from observatory.agent.worker.profiles.task_threads import METRIC as TASK_THREADS

LEAKED: list[np.ndarray] = []
LOCK = threading.Lock()
CONNECTIONS: queue.Queue[str] = queue.Queue()
CONNECTIONS.put("the only one")


class Slow:
    """A result that takes `seconds` to be pickled, as if the network or the disk were slow."""

    def __init__(self, seconds: float, nbytes: int = 1_000) -> None:
        self.seconds, self.nbytes = seconds, nbytes

    def __reduce__(self) -> Any:
        time.sleep(self.seconds)
        return Slow, (self.seconds, self.nbytes)


@sizeof.register(Slow)
def _size(result: Slow) -> int:
    return result.nbytes


class SlowTransitions(SchedulerPlugin):
    """Keeps the scheduler for `seconds` at each transition to processing."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if finish == "processing":
            time.sleep(self.seconds)


class AsIfTheyComputed(WorkerPlugin):
    """Reports the CPU that the tasks of a worker would use if they computed instead of sleeping.

    Also as used by their process: else they would have been ready to run, without a core.
    """

    def setup(self, worker: Any) -> None:
        used = worker.monitor.recent

        def cpu() -> float:
            return 100.0 * float(worker.state.executing_count)

        worker.metrics[TASK_THREADS] = lambda worker: {"cpu": cpu()}
        worker.monitor.recent = lambda: {**used(), "cpu": used().get("cpu", 0.0) + cpu()}


def ask(number: int, url: str) -> int:
    """Waits for a service."""
    return len(urllib.request.urlopen(f"{url}/{number}").read())


def write_locked(number: int, seconds: float, is_locked: bool) -> int:
    with LOCK if is_locked else contextlib.nullcontext():
        time.sleep(seconds)
    return number


def use_connection(number: int, seconds: float, is_only_one: bool) -> int:
    connection = CONNECTIONS.get() if is_only_one else ""
    time.sleep(seconds)
    if connection:
        CONNECTIONS.put(connection)
    return number


def sleep(seconds: float, *needed: Any) -> float:
    time.sleep(seconds)
    return seconds


def sleep_for_each(numbers: list[int], seconds: float) -> int:
    time.sleep(seconds * len(numbers))
    return sum(numbers)


def add(*numbers: int) -> int:
    return sum(numbers)


def make(seconds: float, pickling: float, nbytes: int = 1_000) -> Slow:
    time.sleep(seconds)
    return Slow(pickling, nbytes)


def hold_gil(seconds: float, *needed: Any) -> None:
    """Holds Python's lock without using the CPU; other threads get it 20 times a second."""
    libc = ctypes.PyDLL(None)
    for _ in range(round(seconds / 0.05)):
        libc.usleep(50_000)


def loop(rounds: int) -> int:
    number = 0
    for step in range(rounds):
        number += step % 7
    return number


def block_event_loop(seconds: float) -> None:
    """The worker's event loop does nothing else for that long."""
    worker = get_worker()
    worker.loop.add_callback(time.sleep, seconds)


def block_event_loop_often(seconds: float, times: int, every: float) -> None:
    loop = get_worker().loop
    for number in range(times):
        loop.add_callback(loop.call_later, number * every, time.sleep, seconds)


def block_scheduler_often(seconds: float, every: float, dask_scheduler: Any) -> None:
    callback = PeriodicCallback(lambda: time.sleep(seconds), every * 1000)
    dask_scheduler.periodic_callbacks["blocking"] = callback
    callback.start()


async def request(seconds: float, number: int, is_blocking: bool) -> int:
    if is_blocking:
        time.sleep(seconds)
    else:
        await asyncio.sleep(seconds)
    return number


def fail_first(seconds: float, times: int, folder: str, number: int) -> int:
    """Fails as often as that, then returns its number."""
    time.sleep(seconds)
    tries = Path(folder) / f"{number}-{os.urandom(4).hex()}"
    if len(list(Path(folder).glob(f"{number}-*"))) < times:
        tries.touch()
        raise ConnectionResetError(f"try again with {number}")
    return number


def refuse_first(number: int, seconds: float, patience: float, folder: str, times: int) -> int:
    """Tries for as long as its patience lasts and asks to be sent elsewhere, as often as that; then works."""
    tries = Path(folder) / f"{number}-{os.urandom(4).hex()}"
    if len(list(Path(folder).glob(f"{number}-*"))) < times:
        time.sleep(patience)
        tries.touch()
        raise Reschedule
    time.sleep(seconds)
    return number


def poll(number: int, seconds: float, since: float) -> int:
    """Looks whether what it needs is there, and asks to be sent again if it isn't."""
    if time.time() < since:
        time.sleep(0.1)
        raise Reschedule
    time.sleep(seconds)
    return number


def fail(number: int) -> int:
    raise ValueError(f"no such column: {number}")


def die() -> None:
    os._exit(1)


def die_first(path: str, seconds: float) -> float:
    """Ends its worker after a while, the first time."""
    time.sleep(seconds)
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return seconds


def hold_memory(nbytes: int, seconds: float) -> int:
    """Memory that Dask doesn't manage, for a while."""
    held = _filled(nbytes)
    time.sleep(seconds)
    return len(held)


def leak(nbytes: int, seconds: float) -> None:
    LEAKED.append(_filled(nbytes))
    time.sleep(seconds)


def _filled(nbytes: int) -> np.ndarray:
    """Bytes that are in memory, each page of them; never more than these."""
    return np.ones(nbytes, np.uint8)


def sleep_longer_on(names: tuple[int, ...], seconds: float, factor: float) -> None:
    """Some workers need `factor` times as long."""
    time.sleep(seconds * (factor if get_worker().name in names else 1))


def orchestrate(number: int, seconds: float, count: int = 2) -> int:
    """Secedes, and waits for tasks of its own."""
    with worker_client() as client:
        return len(client.gather(client.map(sleep, [seconds] * count, pure=False)))


def run_on(number: int, seconds: float) -> int:
    """Secedes, and computes on its own."""
    secede()
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        number += 1
    return number
