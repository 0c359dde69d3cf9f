"""Small workloads that wait where no other one does: for a queue, a coroutine, an executor, an actor beside
tasks, functions outside of tasks, and tasks that ask to be sent elsewhere.

Written before any of them ran, by somebody who had read the detectors. One half of them is judged, the
detectors are mended, and then the other half is judged once.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
from distributed import Client, Queue, Reschedule, wait
from distributed.diagnostics.plugin import WorkerPlugin

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.tasks import fit
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
TWO_BY_FOUR = {"n_workers": 2, "threads_per_worker": 4}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
SENT_BACK: dict[int, int] = {}
"""by a task: how often this process has sent it back"""


class OneScanner(WorkerPlugin):
    """An executor with one thread, for what the annotation names."""

    def setup(self, worker: Any) -> None:
        worker.executors["scanner"] = ThreadPoolExecutor(1)


class Counter:
    """An actor that takes its time."""

    def add(self, number: int, seconds: float) -> int:
        time.sleep(seconds)
        return number


def part(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def with_a_token(number: int, seconds: float, tokens: Any) -> int:
    """Works with a token of a queue, and hands it on."""
    token = tokens.get() if tokens is not None else None
    fit(seconds)
    if tokens is not None:
        tokens.put(token)
    return number


def refuse_first(number: int, seconds: float, times: int) -> int:
    """Notices late that it would rather run elsewhere, as often as `times` says on a worker."""
    fit(seconds)
    seen = SENT_BACK.get(number, 0)
    if number % 2 and seen < times:
        SENT_BACK[number] = seen + 1
        raise Reschedule
    return number


def read_settings(seconds: float) -> str:
    time.sleep(seconds)
    return "read"


@unprepared("serialized|waiting-outside", **THREE_BY_TWO)
def queue_with_one_token(client: Client, has_cause: bool) -> None:
    """36 tasks, of which one at a time has the token; the twin's need none."""
    tokens = Queue("tokens", client=client) if has_cause else None
    if tokens is not None:
        tokens.put("token")
    wait(client.map(with_a_token, range(36), seconds=0.4, tokens=tokens, pure=False))


@unprepared("client", **TWO_BY_TWO)
def coroutine_that_awaits_rounds(client: Client, has_cause: bool) -> None:
    """Ten rounds, each of which a coroutine awaits; the client does 0.9 s of its own between them."""

    async def rounds() -> None:
        for _ in range(10):
            futures = client.map(part, range(8), seconds=0.25, pure=False)
            await client.gather(futures, asynchronous=True)
            if has_cause:
                await asyncio.sleep(0.9)

    client.sync(rounds)


@unprepared("client|few-tasks", **TWO_BY_TWO)
def actor_asked_beside_short_tasks(client: Client, has_cause: bool) -> None:
    """Fifteen rounds of four tasks, after each of which the client waits a second for an actor."""
    counter = client.submit(Counter, actor=True).result()
    for number in range(15):
        futures = client.map(part, range(4), seconds=0.4, pure=False)
        if has_cause:
            counter.add(number, 1.2).result()
        wait(futures)


@unprepared("client", **TWO_BY_TWO)
def settings_read_by_functions_outside_of_tasks(client: Client, has_cause: bool) -> None:
    """Ten rounds, before each of which the workers read settings in functions that are no tasks."""
    for _ in range(10):
        if has_cause:
            client.run(read_settings, 0.9)
        wait(client.map(part, range(8), seconds=0.25, pure=False))


@unprepared("retries|recomputed|failure", **TWO_BY_TWO)
def calls_that_are_rescheduled(client: Client, has_cause: bool) -> None:
    """Every second of 40 notices once on each worker, after 0.5 s, that it would rather be elsewhere."""
    wait(client.map(refuse_first, range(40), seconds=0.5, times=1 if has_cause else 0, pure=False))


@unprepared("serialized", **TWO_BY_FOUR)
def scans_in_an_executor_of_one_thread(client: Client, has_cause: bool) -> None:
    """An annotation sends them to an executor with one thread on each worker; the twin's have four."""
    client.register_plugin(OneScanner())
    with dask.annotate(executor="scanner" if has_cause else "default"):
        futures = client.map(part, range(48), seconds=0.5, pure=False)
    wait(futures)


ELSEWHERE: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def elsewhere_half(number: int) -> list[Workload]:
    return half_of(ELSEWHERE, number)
