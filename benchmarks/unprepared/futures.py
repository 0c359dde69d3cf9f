"""Futures, and rounds of machine learning."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time

from distributed import Client, wait

from benchmarks.unprepared import tasks
from benchmarks.unprepared.graphs import EIGHT, FOUR, TWO_BY_TWO
from benchmarks.unprepared.workload import unprepared

SIXTEEN = {"n_workers": 16, "threads_per_worker": 1}


@unprepared("client", **FOUR)
def rounds_with_code_of_the_client(client: Client, has_cause: bool) -> None:
    """The client evaluates the model for 0.8 s between the rounds."""
    for _ in range(6):
        client.gather(client.map(tasks.fit, [0.5] * 4, pure=False))
        time.sleep(0.8 if has_cause else 0)


@unprepared("client|transfers", has_cost=False, **TWO_BY_TWO)
def results_gathered_by_the_client(client: Client, has_cause: bool) -> None:
    """The client gathers 160 MB in each round, and adds them up itself."""
    for step in range(5):
        rows = client.map(tasks.row, [step] * 8, nbytes=20_000_000, pure=False)
        if has_cause:
            for _ in range(3):
                sum(int(one.sum()) for one in client.gather(rows))
        else:
            client.gather(client.map(tasks.total, rows, seconds=0, pure=False))


@unprepared("stragglers", **FOUR)
def rounds_with_one_slow_part(client: Client, has_cause: bool) -> None:
    """The same part takes five times as long in each round; the twin has the same work spread."""
    model = client.submit(tasks.fit, 0.05, pure=False)
    times = [1.5] + [0.3] * 7 if has_cause else [(1.5 + 7 * 0.3) / 8] * 8
    for _ in range(5):
        parts = [client.submit(tasks.fit, seconds, model, pure=False) for seconds in times]
        model = client.submit(tasks.fit, 0.05, *parts, pure=False)
    model.result()


@unprepared("late-workers", n_workers=1, threads_per_worker=1, without={"n_workers": 4})
def futures_before_the_workers(client: Client, has_cause: bool) -> None:
    if has_cause:
        threading.Timer(4, client.cluster.scale, [4]).start()
    wait(client.map(tasks.fit, [0.3] * 60, pure=False))


@unprepared("adaptive|late-workers", n_workers=1, threads_per_worker=1, without={"n_workers": 6})
def adaptive_cluster_that_grows_slowly(client: Client, has_cause: bool) -> None:
    """Adapts to at most six workers, but only every two seconds."""
    if has_cause:
        client.cluster.adapt(minimum=1, maximum=6, interval="2s", target_duration="1s")
    wait(client.map(tasks.fit, [0.4] * 24, pure=False))


@unprepared("late-workers|few-workers|idle", has_cost=False, **FOUR)
def workers_that_leave(client: Client, has_cause: bool) -> None:
    """Three of four workers retire after two seconds: somebody scaled the cluster down."""
    if has_cause:
        threading.Timer(2, client.cluster.scale, [1]).start()
    wait(client.map(tasks.fit, [0.3] * 40, pure=False))


@unprepared("slow-worker", **EIGHT)
def one_throttled_worker_of_eight(client: Client, has_cause: bool) -> None:
    for _ in range(2):
        wait(
            client.map(
                tasks.throttled, range(32), seconds=0.5, name=3 if has_cause else None, factor=4.0, pure=False
            )
        )


@unprepared("scheduler-busy", **TWO_BY_TWO)
def plugin_of_ten_milliseconds(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.register_plugin(tasks.TenMilliseconds())
    wait(client.map(tasks.fit, [0.02] * 200, pure=False))


@unprepared("retries|failure", **TWO_BY_TWO)
def service_that_hangs_up_twice(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        wait(
            client.map(
                tasks.flaky,
                range(16),
                seconds=0.4,
                folder=folder if has_cause else None,
                retries=3,
                pure=False,
            )
        )


@unprepared("failure", has_cost=False, **FOUR)
def one_station_is_missing(client: Client, has_cause: bool) -> None:
    with contextlib.suppress(KeyError):
        client.gather(client.map(tasks.raises, range(40), pure=False))


@unprepared("unrunnable", has_cost=False, **TWO_BY_TWO)
def resource_that_nobody_has(client: Client, has_cause: bool) -> None:
    futures = client.map(tasks.fit, [0.2] * 8, resources={"GPU": 1} if has_cause else {}, pure=False)
    with contextlib.suppress(TimeoutError):
        wait(futures, timeout=7)


@unprepared("worker-died", **TWO_BY_TWO)
def worker_killed_in_the_middle(client: Client, has_cause: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = f"{folder}/died" if has_cause else None
        wait(client.map(tasks.dies_once, range(24), seconds=0.5, path=path, pure=False))


@unprepared("silent-worker|worker-died|stragglers", **FOUR)
def worker_that_stands_still(client: Client, has_cause: bool) -> None:
    """The operating system stops one worker for six seconds."""
    futures = client.map(tasks.fit, [0.4] * 32, pure=False)
    if has_cause:
        time.sleep(1)
        pids = client.run(os.getpid)
        stopped = pids[sorted(pids)[0]]
        os.kill(stopped, signal.SIGSTOP)
        threading.Timer(6, os.kill, [stopped, signal.SIGCONT]).start()
    wait(futures)


@unprepared("event-loops", has_cost=False, **TWO_BY_TWO)
def coroutines_that_sleep(client: Client, has_cause: bool) -> None:
    if has_cause:
        client.run(tasks.block_loop, 1.5, 4)
    for _ in range(10):
        wait(client.map(tasks.fit, [0.3] * 4, pure=False))


@unprepared("other-runs", **TWO_BY_TWO)
def another_client_works_meanwhile(client: Client, has_cause: bool) -> None:
    with Client(client.scheduler.address, set_as_default=False) as other:
        theirs = other.map(tasks.fit, [0.4] * 30, pure=False, priority=5) if has_cause else []
        time.sleep(0.2)
        wait(client.map(tasks.fit, [0.4] * 30, pure=False))
        wait(theirs)


@unprepared("waiting-outside", **SIXTEEN)
def sixteen_workers_ask_a_database(client: Client, has_cause: bool) -> None:
    wait(client.map(tasks.query, range(160), seconds=0.6 if has_cause else 0.06, pure=False))


@unprepared("first-use", "narrow-stage", **FOUR)
def connections_first_and_one_task_last(client: Client, has_cause: bool) -> None:
    """Two causes: a connection at the first use of each thread, and a tail of three seconds."""
    parts = client.map(tasks.connect_once, range(32), seconds=0.3, is_slow=has_cause, pure=False)
    client.submit(tasks.fit, 3 if has_cause else 0.75, *parts, pure=False).result()


@unprepared("late-workers", "stragglers", n_workers=1, threads_per_worker=1, without={"n_workers": 4})
def workers_late_and_one_part_long(client: Client, has_cause: bool) -> None:
    """Two causes: three of four workers come late, and one part is longer than the others."""
    if has_cause:
        threading.Timer(3, client.cluster.scale, [4]).start()
    times = [0.3] * 47 + [5] if has_cause else [(47 * 0.3 + 5) / 48] * 48
    wait(client.map(tasks.fit, times, pure=False))
