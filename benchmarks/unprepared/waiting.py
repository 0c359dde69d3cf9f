"""Workloads that wait: for answers one by one, their longest part, an event, another program, a timeout.

Written from reports to Dask's issue trackers: tasks that all go to one worker, workers that stand idle at the
end of a job, tasks that nobody waits for, clusters that scale between bursts. Written before any of them ran,
by somebody who had read the detectors. What most of them lose is sleep, so that a busy machine changes little
of what a cause costs. One half of them is judged, the detectors are mended, and then the other half is judged
once.
"""

from __future__ import annotations

import subprocess
import sys
import time
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client, Event, fire_and_forget, get_client, get_worker, wait

from benchmarks.unprepared.dividing import half_of
from benchmarks.unprepared.tasks import fit, query
from benchmarks.unprepared.workload import WORKLOADS, Workload, unprepared

BEFORE = frozenset(WORKLOADS)
TWO_BY_TWO = {"n_workers": 2, "threads_per_worker": 2}
TWO_BY_THREE = {"n_workers": 2, "threads_per_worker": 3}
THREE_BY_TWO = {"n_workers": 3, "threads_per_worker": 2}
FOUR = {"n_workers": 4, "threads_per_worker": 1}
TWO = {"n_workers": 2, "threads_per_worker": 1}


def answer(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def part(number: int, seconds: float) -> int:
    fit(seconds)
    return number


def report(pages: int) -> int:
    """Takes a tenth of a second for each page."""
    fit(0.1 * pages)
    return pages


def on_machine(number: int, seconds: float) -> str:
    fit(seconds)
    return str(get_worker().name)


def request(number: int, waited: float) -> int:
    """Waits for a server that doesn't answer, and asks another one then."""
    query(number, waited)
    fit(0.3)
    return number


def load_reference(seconds: float) -> int:
    fit(seconds)
    Event("reference-is-loaded").set()
    return 0


def compare_with_reference(number: int) -> int:
    Event("reference-is-loaded").wait()
    fit(0.3)
    return number


def convert(number: int, seconds: float) -> int:
    """Lets another program work, and checks what it has made."""
    subprocess.run(["sleep", str(seconds)], check=True)
    fit(0.15)
    return number


def message(number: int, seconds: float) -> None:
    fit(seconds)


def notify(number: int, messages: int, seconds: float) -> int:
    """Sends messages for which nobody waits."""
    fit(0.2)
    client = get_client()
    for one in range(messages):
        fire_and_forget(client.submit(message, one, seconds, pure=False))
    return number


def classified(number: int, to_load: float) -> int:
    """Loads a model at its first call in a process."""
    models: dict[str, Any] = sys.modules.setdefault("models", types.ModuleType("models")).__dict__
    if "model" not in models:
        models["model"] = number
        fit(to_load)
    fit(0.3)
    return number


def _unfinished(dask_scheduler: Any = None) -> int:
    return sum(one.state not in ("memory", "erred") for one in dask_scheduler.tasks.values())


def _wait_for_all(client: Client) -> None:
    while client.run_on_scheduler(_unfinished):
        time.sleep(0.1)


@unprepared("client|few-tasks|narrow-stage", **TWO_BY_TWO)
def answers_asked_one_after_another(client: Client, has_cause: bool) -> None:
    """The result of each is waited for before the next one is submitted."""
    if has_cause:
        for number in range(30):
            client.submit(answer, number, 0.2, pure=False).result()
    else:
        client.gather(client.map(answer, range(30), seconds=0.2, pure=False))


@unprepared("client|few-tasks|narrow-stage", **TWO_BY_THREE)
def rounds_that_wait_for_their_longest_part(client: Client, has_cause: bool) -> None:
    """Eight rounds of six parts, which take 0.2 to 1.2 s; the twin doesn't wait between them."""
    parts: list[Any] = []
    for number in range(8):
        seconds = np.random.default_rng(number).permutation(np.linspace(0.2, 1.2, 6)).tolist()
        parts += client.map(part, range(6), seconds, pure=False)
        if has_cause:
            wait(parts)
    wait(parts)


@unprepared("narrow-stage|few-tasks|stragglers", **TWO_BY_THREE)
def long_reports_at_the_end(client: Client, has_cause: bool) -> None:
    """Three of thirty pages come last; the twin divides them into ten each."""
    pages: Sequence[int] = [3] * 36 + ([30] * 3 if has_cause else [3] * 30)
    wait(client.map(report, pages, pure=False))


@unprepared("piled-tasks|few-tasks", **FOUR)
def calls_pinned_to_one_machine(client: Client, has_cause: bool) -> None:
    """Half of the tasks may run on one worker alone."""
    calls = client.map(on_machine, range(24), seconds=0.3, pure=False)
    one = next(iter(client.scheduler_info()["workers"])) if has_cause else None
    wait([*calls, *client.map(on_machine, range(24), seconds=0.3, pure=False, workers=one)])


@unprepared("stragglers|waiting-outside", **TWO_BY_THREE)
def requests_that_time_out(client: Client, has_cause: bool) -> None:
    """One in five waits three seconds for nothing."""
    wait(
        client.map(
            request, range(60), [3.0 if has_cause and one % 5 == 0 else 0.0 for one in range(60)], pure=False
        )
    )


@unprepared("serialized|waiting-outside", **TWO_BY_TWO)
def parts_that_wait_for_an_event(client: Client, has_cause: bool) -> None:
    """Threads wait for an event of Dask that another task sets after four seconds; other work is in line."""
    loaded = client.submit(load_reference, 4.0 if has_cause else 0.1, pure=False)
    parts = client.map(compare_with_reference, range(16), pure=False)
    others = client.map(answer, range(32), seconds=0.3, pure=False)
    wait([loaded, *parts, *others])


@unprepared("waiting-outside", **THREE_BY_TWO)
def programs_that_tasks_wait_for(client: Client, has_cause: bool) -> None:
    wait(client.map(convert, range(48), seconds=0.8 if has_cause else 0.01, pure=False))


@unprepared("small-tasks|scheduler-busy", **TWO_BY_THREE)
def messages_that_nobody_waits_for(client: Client, has_cause: bool) -> None:
    """1,920 messages of 5 ms; the twin sends as much in 48 of 0.2 s."""
    messages, seconds = (80, 0.005) if has_cause else (2, 0.2)
    wait(client.map(notify, range(24), messages=messages, seconds=seconds, pure=False))
    _wait_for_all(client)


@unprepared("adaptive|late-workers", has_cost=False, **TWO)
def bursts_between_which_the_cluster_shrinks(client: Client, has_cause: bool) -> None:
    """Workers are removed in each pause, and asked for again."""
    client.cluster.adapt(minimum=1, maximum=4, interval="200ms", wait_count=2, target_duration="1s")
    for _ in range(4):
        wait(client.map(answer, range(24), seconds=0.4, pure=False))
        time.sleep(1.5)


@unprepared("first-use", "late-workers", without={"n_workers": 4}, **TWO)
def machines_that_join_late_and_load_their_model(client: Client, has_cause: bool) -> None:
    """Two causes: two of four workers come after four seconds, and each loads a model for two."""
    calls = client.map(classified, range(72), to_load=2.0 if has_cause else 0.0, pure=False)
    if has_cause:
        time.sleep(4)
        client.cluster.scale(4)
    wait(calls)


@unprepared(**TWO_BY_TWO)
def readings_that_arrive_steadily(client: Client, has_cause: bool) -> None:
    """A source sends twenty a second, which keep nine tenths of the threads busy."""
    readings = []
    for number in range(120):
        readings.append(client.submit(answer, number, 0.18, pure=False))
        time.sleep(0.05)
    wait(readings)


@unprepared(**THREE_BY_TWO)
def models_of_several_kinds(client: Client, has_cause: bool) -> None:
    """Four names of tasks of other lengths, each of which needs those before."""
    chance = np.random.default_rng(7)
    found = client.map(answer, range(72), chance.uniform(0.2, 0.4, 72).tolist(), pure=False)
    for name, seconds in (("clean", 0.15), ("train", 0.35), ("score", 0.1)):
        found = [client.submit(fit, seconds, one, key=f"{name}-{place}") for place, one in enumerate(found)]
    wait(found)


WAITING: list[Workload] = [WORKLOADS.pop(name) for name in list(WORKLOADS) if name not in BEFORE]
"""They belong to no half of the first ones."""


def waiting_half(number: int) -> list[Workload]:
    return half_of(WAITING, number)
