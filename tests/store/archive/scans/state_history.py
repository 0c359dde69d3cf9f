"""An hour of tasks that begin again, err and are released, of workers that end or fall silent, of samples."""

from __future__ import annotations

import random
import uuid
from typing import Any

from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.wire.head import Head
from observatory.wire.records import (
    Action,
    Event,
    MetricType,
    Sample,
    Series,
    Span,
    Status,
    WorkerGone,
    WorkerSeen,
)

START = 1_790_020_800.0
SECONDS = 3_600
SILENT, ENDING, LATE = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000", "tcp://10.0.0.3:4000"
SILENT_AT, ENDED_AT, CAME_AT = 900, 2_000, 2_400
"""seconds after START"""
TOTALS_UNTIL = 1_500
"""after which the scheduler's metrics are not read any more"""
TASKS = 900
PREFIXES = ("load", "sum", "fit")


def write_state_history(cluster: int) -> None:
    history = _History(cluster)
    for number in range(TASKS):
        history.add_task(number)
    for second in range(0, SECONDS, 5):
        history.add_samples(second)
    with Writer() as writer:
        writer.write(history.batch())


class _History:
    def __init__(self, cluster: int) -> None:
        self._chance = random.Random(11)
        stop = START + SECONDS
        head = Head(uuid.uuid4().hex, 1, "Scheduler-1", "etl", "", START - 10, START - 5, stop + 10)
        self._batch = BatchBuilder(cluster, head=head, committed=stop + 10)
        self._batch.workers = [
            self._seen(SILENT, "w0", -8),
            self._seen(ENDING, "w1", -8),
            self._seen(LATE, "w2", CAME_AT),
        ]
        self._batch.gone = [WorkerGone(ENDING, START + ENDED_AT, "closed")]
        self._transitions: list[tuple[Any, ...]] = []
        statuses = ((600, SILENT, "paused"), (660, SILENT, "running"), (50, ENDING, "paused"))
        for second, worker, status in statuses:
            self._batch.events.append(
                Event(START + second, "worker-status", worker, {"status": status, "previous": "running"})
            )

    def batch(self) -> Any:
        self._batch.rows["transition"] = sorted(self._transitions, key=lambda row: row[0])
        return self._batch.batch

    def add_task(self, number: int) -> None:
        """One that is computed, perhaps again, errs, or stays as it is."""
        chance = self._chance
        key, time = f"('{PREFIXES[number % 3]}-{number % 5}', {number})", START + number * SECONDS / TASKS
        self._change(time, key, "released", "waiting", "update-graph-1")
        self._change(time + 0.01, key, "waiting", "processing", "update-graph-1")
        time += chance.uniform(0.5, 40)
        has_failed = number % 17 == 3
        self._compute(key, time, Status.ERROR if has_failed else Status.OK)
        time += chance.uniform(0.1, 60)
        if number % 6 == 1:  # it is lost or tried again
            state, stimulus = "erred" if has_failed else "memory", f"again-{number}"
            self._change(time, key, state, "released", stimulus)
            self._change(time + 0.5, key, "released", "waiting", stimulus)
            self._change(time + 0.6, key, "waiting", "processing", stimulus)
            time += chance.uniform(1, 30)
            self._compute(key, time, Status.OK)
            has_failed = False
        if number % 4 == 0:
            self._change(time + 50, key, "erred" if has_failed else "memory", "released", f"done-{number}")
        if number % 8 == 0:
            self._change(time + 300, key, "released", "forgotten", f"gone-{number}")

    def add_samples(self, second: int) -> None:
        time = START + second
        for worker, address in enumerate((SILENT, ENDING, LATE)):
            if not self._is_heard(address, second):
                continue
            for type in ("process", "managed"):
                value = float(worker + second + len(type))
                self._sample(("observatory_worker_memory_bytes", (("type", type),), address), time, value)
            self._sample(("observatory_worker_cpu_percent", (), address), time, float(second % 100))
            counter = Series("dask_worker_gil_contention_seconds_total", (), address, MetricType.COUNTER)
            self._batch.add(Sample(counter, time, second * 0.1 * (worker + 1)))
        for state, value in (("waiting", 3), ("processing", 2), ("memory", second // 10), ("erred", 1)):
            self._sample(("observatory_cluster_tasks", (("state", state),), ""), time + 0.2, float(value))
        if second % 15 == 0 and second <= TOTALS_UNTIL:
            for number, prefix in enumerate(PREFIXES):
                for state in ("waiting", "memory", "erred", "released"):
                    labels = (("state", state), ("task_prefix_name", prefix))
                    of_scheduler = ("dask_scheduler_prefix_state_totals_total", labels, "")
                    self._sample(of_scheduler, time + 0.3, float(second // 12 + number))

    def _is_heard(self, address: str, second: int) -> bool:
        if address == SILENT:
            return second < SILENT_AT
        return second < ENDED_AT if address == ENDING else second > CAME_AT

    def _compute(self, key: str, stop: float, status: Status) -> None:
        worker = SILENT if (stop - START) < ENDED_AT and self._chance.random() < 0.5 else ENDING
        if stop - START > CAME_AT + 40:
            worker = LATE
        start = stop - self._chance.uniform(0.1, 30)
        prefix, group = key[2:].split("-")[0], key[2:].split("'")[0]
        self._batch.add(Span(worker, 1, key, prefix, group, Action.COMPUTE, start, stop, 10, "int", status))
        finish = "erred" if status == Status.ERROR else "memory"
        self._change(stop + 0.02, key, "processing", finish, "task-finished", worker)

    def _change(
        self, time: float, key: str, start: str, finish: str, stimulus: str, worker: str = ""
    ) -> None:
        self._transitions.append((time, key, start, finish, worker, stimulus))

    def _sample(self, series: tuple[Any, ...], time: float, value: float) -> None:
        self._batch.add(Sample(Series(*series), time, value))

    @staticmethod
    def _seen(address: str, name: str, started: int) -> WorkerSeen:
        return WorkerSeen(address, name, "10.0.0.1", 2, 2**33, START + started, "running", {}, {})
