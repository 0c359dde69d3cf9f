"""Strange small workloads: loops that wait, actors, callers on event loops, chains that begin last.

Written from reports to Dask's issue trackers: workers that stand idle although work is in line
(distributed#4501), jobs that are slow at their end (#2835), tasks that wait for tasks (#2888). Written before
any of them ran, by somebody who had read the detectors. One half of them is judged, the
detectors are mended, and then the other half is judged once.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, as_completed, get_client, wait

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.tasks import fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}


class Scaler:
    """An actor with something that is expensive to load."""

    def scale(self, number: int, seconds: float) -> int:
        fit(seconds)
        return number


def tile(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def gradient(model: float, part: int, seconds: float) -> float:
    fit(seconds)
    return model / 2 + part / 100


def scaled(number: int, scaler: Any, seconds: float) -> int:
    """Asks the actor for a part of its work."""
    fit(0.1)
    return int(scaler.scale(number, seconds).result()) if scaler is not None else tile(number, seconds)


def download(number: int, folder: str, tries: int) -> int:
    """Fails after a second and a half, for one of six, as often as `tries` says."""
    failed = Path(folder) / f"{number}"
    count = len(failed.read_text()) if failed.exists() else 0
    if number % 6 == 0 and count < tries:
        failed.write_text("x" * (count + 1))
        fit(1.5)
        raise OSError("the connection was reset")
    fit(0.4)
    return number


def orchestrate(number: int, parts: int, has_to_wait: bool) -> Any:
    """Gives its parts to the cluster, and keeps its thread while they run."""
    if not has_to_wait:
        return number
    client = get_client()
    futures = client.map(tile, range(parts), seconds=0.25, pure=False)
    wait(futures)
    return number


def say_hello(seconds: float) -> None:
    time.sleep(seconds)


@unprepared("client|few-tasks|narrow-stage", **TWO_BY_TWO)
def tiles_gathered_batch_by_batch(client: Client, has_cause: bool) -> None:
    """Twelve batches of five, each of which is gathered before the next is submitted."""
    chance = np.random.default_rng(5)
    batches = [chance.uniform(0.1, 0.6, 5).tolist() for _ in range(12)]
    if has_cause:
        for seconds in batches:
            client.gather(client.map(tile, range(5), seconds, pure=False))
    else:
        client.gather([each for one in batches for each in client.map(tile, range(5), one, pure=False)])


@unprepared("client|few-tasks|narrow-stage", **THREE_BY_TWO)
def regions_computed_in_a_loop(client: Client, has_cause: bool) -> None:
    """Ten graphs of four parts and a sum; the twin computes them together."""
    graphs = []
    for region in range(10):
        parts = [dask.delayed(tile, pure=False)(one, 0.2 + 0.15 * ((region + one) % 4)) for one in range(4)]
        graphs.append(dask.delayed(sum)(parts))
    if has_cause:
        for one in graphs:
            one.compute()
    else:
        dask.compute(*graphs)


@unprepared("client", **TWO_BY_TWO)
def results_handled_before_the_next_is_submitted(client: Client, has_cause: bool) -> None:
    """Four are in flight; each result keeps the client for 0.2 s, in its own code."""
    numbers = iter(range(4, 40))
    running = as_completed(client.map(tile, range(4), seconds=0.3, pure=False))
    for _ in running:
        if has_cause:
            fit(0.2)
        number = next(numbers, None)
        if number is not None:
            running.add(client.submit(tile, number, 0.3, pure=False))


@unprepared("retries|failure", **TWO_BY_TWO)
def downloads_that_are_reset(client: Client, has_cause: bool) -> None:
    """Of 48, every sixth fails twice, late."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        wait(
            client.map(download, range(48), folder=folder, tries=2 if has_cause else 0, retries=4, pure=False)
        )


@unprepared("waiting-outside", **THREE_BY_TWO)
def orchestrators_that_keep_their_threads(client: Client, has_cause: bool) -> None:
    """Four of six threads have tasks that wait for others; the twin's client submits these itself."""
    wait(client.map(orchestrate, range(4), parts=18, has_to_wait=has_cause, pure=False))
    if not has_cause:
        wait(client.map(tile, range(4 * 18), seconds=0.25, pure=False))


@unprepared("serialized|waiting-outside", **TWO_BY_THREE)
def one_actor_that_all_tasks_ask(client: Client, has_cause: bool) -> None:
    """It does one thing at a time; the twin's tasks do it themselves."""
    scaler = client.submit(Scaler, actor=True).result() if has_cause else None
    wait(client.map(scaled, range(36), scaler=scaler, seconds=0.2, pure=False))


@unprepared("narrow-stage|few-tasks|stragglers", **TWO_BY_THREE)
def chain_that_begins_last(client: Client, has_cause: bool) -> None:
    """Eight steps that need each other, with the lowest priority beside what is in line; the twin's first."""
    priority = -10 if has_cause else 10
    step = client.submit(tile, 0, 0.4, pure=False, priority=priority)
    for _ in range(7):
        step = client.submit(fit, 0.4, step, pure=False, priority=priority)
    wait([step, *client.map(tile, range(54), seconds=0.4, pure=False)])


@unprepared("event-loops", **TWO_BY_TWO)
def greetings_on_the_event_loop(client: Client, has_cause: bool) -> None:
    """Functions of `client.run` that sleep keep the loops of workers, while short tasks come and go."""
    futures = client.map(tile, range(64), seconds=0.15, pure=False)
    for _ in range(4):
        if has_cause:
            client.run(say_hello, 1.0)
    wait(futures)


@unprepared(**TWO_BY_TWO)
def epochs_that_need_each_other(client: Client, has_cause: bool) -> None:
    """Each round needs the mean of the one before, and its parts are nearly equal."""
    model = 1.0
    for epoch in range(6):
        seconds = np.random.default_rng(epoch).uniform(0.36, 0.4, 12).tolist()
        model = float(
            np.mean(client.gather(client.map(gradient, [model] * 12, range(12), seconds, pure=False)))
        )


@unprepared(**THREE_BY_TWO)
def stream_that_keeps_two_for_each_thread(client: Client, has_cause: bool) -> None:
    chance = np.random.default_rng(3)
    lengths = iter(chance.uniform(0.2, 0.5, 84).tolist())
    running = as_completed(client.map(tile, range(12), [next(lengths) for _ in range(12)], pure=False))
    for _ in running:
        seconds = next(lengths, None)
        if seconds is not None:
            running.add(client.submit(tile, 0, seconds, pure=False))


STRANGE: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def strange_half(number: int) -> list[Workload]:
    return half_of(STRANGE, number)
