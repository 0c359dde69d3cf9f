"""A cluster that works while its Observatory is disturbed, and an independent record to compare with."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import Client, LocalCluster, Scheduler, wait
from distributed.diagnostics.plugin import SchedulerPlugin

import observatory.agent
from observatory.wire.records import TASK_STATES

TASKS_AT_ONCE = 1_000
KEY = "replace(key_rest, chr(1), task_group.name)"
Rows = Callable[[str], list[tuple[Any, ...]]]
"""asks the database of the Observatory"""


class Recorder(SchedulerPlugin):
    """An independent recorder of transitions and errors on the scheduler, to compare with."""

    name = "independent-recorder"

    def __init__(self) -> None:
        self.transitions: Counter[tuple[str, str, str, str]] = Counter()
        self.spans: Counter[tuple[str, int, int]] = Counter()
        self.erred: Counter[str] = Counter()

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        self.transitions[str(key), start, finish, kwargs["stimulus_id"]] += 1
        if finish == "erred":
            self.erred[str(key)] += 1
        for timed in kwargs.get("startstops") or ():
            self.spans[str(key), round(timed["start"] * 1e6), round(timed["stop"] * 1e6)] += 1


def task(number: int) -> int:
    if number % 100 == 7:
        logging.getLogger("distributed.worker").warning("warning of task %d", number)
    if number % 150 == 11:
        raise ValueError(f"no {number}")
    return number


def work(client: Client, is_over: threading.Event) -> int:
    """Submits tasks until `is_over` is set. Returns their number."""
    tasks = 0
    while not is_over.is_set():
        wait(client.map(task, range(tasks, tasks + TASKS_AT_ONCE), pure=False))
        tasks += TASKS_AT_ONCE
        time.sleep(0.5)
    return tasks


def observe(url: str, token: str, disturb: Callable[[], None]) -> tuple[Recorder, int]:
    """A cluster works until `disturb` returns. Returns what it really did, and the number of its tasks."""
    recorder = Recorder()
    workers = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": "ERROR"}
    with LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:

        async def record(scheduler: Scheduler) -> None:
            scheduler.add_plugin(recorder)

        # what isn't sent by then stays in the spool, and a busy machine takes long to serve what piled up
        observatory.agent.register(client, url=url, token=token, name="chaos", close_timeout="2m")
        cluster.sync(record, cluster.scheduler)
        is_over = threading.Event()
        with ThreadPoolExecutor(1) as thread:
            tasks = thread.submit(work, client, is_over)
            try:
                disturb()  # in the main thread: what it starts ends with the thread that started it
            finally:
                is_over.set()
            return recorder, tasks.result()


def assert_stored_once(rows: Rows, recorder: Recorder, tasks: int) -> None:
    """Every transition, span, error and log of the cluster is in the database exactly once."""

    def stored(columns: str, table: str, more: str = "") -> Counter[tuple[Any, ...]]:
        joined = "" if table == "log" else "JOIN task_group ON task_group.id = group_id"
        return Counter(rows(f"SELECT {columns} FROM {table} {joined} {more}"))

    states = ", ".join(f"'{state}'" for state in TASK_STATES)
    named = f"(ARRAY[{states}])[start + 1], (ARRAY[{states}])[finish + 1], stimulus"
    transitions = stored(f"{KEY}, {named}", "transition")
    assert not recorder.transitions - transitions, "some are missing"
    seen = Counter({row: transitions[row] for row in recorder.transitions})
    assert not seen - recorder.transitions, "some are stored twice"
    assert len(recorder.erred) == len(range(11, tasks, 150))
    microseconds = ", ".join(
        f"(extract(epoch FROM {name}) * 1e6)::bigint" for name in ("span.start", "span.stop")
    )
    spans = stored(f"{KEY}, {microseconds}", "span")
    assert sum(spans.values()) == recorder.spans.total()
    assert max(spans.values()) == 1
    errors = stored(f"{KEY}, outcome, message", "error")
    assert {key for key, _, _ in errors} == set(recorder.erred)
    assert errors.total() == recorder.erred.total()
    assert {outcome for _, outcome, _ in errors} == {"erred"}
    logs = stored("message", "log", "WHERE level = 30 AND message LIKE 'warning of task %'")
    assert logs == {(f"warning of task {number}",): 1 for number in range(7, tasks, 100)}
    assert rows("SELECT count(*) FROM event WHERE kind = 'records-dropped'") == [(0,)]
    assert rows("SELECT count(*) FROM clusters_cluster WHERE ended IS NOT NULL") == [(1,)]
