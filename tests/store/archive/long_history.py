"""Hours of logs, tasks, errors and samples over midnight, in many row groups of few rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from observatory.store.archive.files import stretches
from observatory.store.archive.scans import scan
from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.wire.head import Head
from observatory.wire.records import Action, Event, Sample, Series, Span, Status, WorkerSeen

START = 1_790_020_800.0
"""20:00 UTC"""
STEPS, STEP = 150, 193.0
"""8 hours, seconds"""
FIRST, SECOND = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"
MESSAGES = (
    "Paused: 81% of memory",
    "Heartbeat to tcp://10.0.0.9:8786 failed",
    "100% done [a+b] \\d",
    "Straße in İstanbul und KÖLN",
    "order {step} is done",
)
RARE = 7
"""the step of what occurs once"""


def make_small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "ROWS_OF_A_GROUP", 40)
    monkeypatch.setattr(stretches, "ROWS_OF_A_FILE", 120)
    monkeypatch.setattr(scan, "FEW_ROWS", 16)
    monkeypatch.setattr(scan, "EXPORTED_ROWS", 20)


def key_of(step: int) -> str:
    return f"('load-{step % 7}', {step})"


def write_long_history(cluster: int) -> None:
    stop = START + STEPS * STEP
    head = Head(uuid.uuid4().hex, 1, "Scheduler-1", "etl", "", START - 10, START - 5, stop + 10)
    batch = BatchBuilder(cluster, head=head, committed=stop + 10)
    batch.workers = [
        WorkerSeen(FIRST, "w0", "10.0.0.1", 2, 2**33, START - 8, "running", {}, {}),
        WorkerSeen(SECOND, "w1", "10.0.0.2", 2, 2**33, START - 8, "running", {}, {}),
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        kind: [] for kind in ("log", "transition", "error", "task", "dependency", "transfer", "steal")
    }
    for step in range(STEPS):
        _add_step(batch, lambda kind, *values: rows[kind].append(values), step)
    for kind, made in rows.items():
        batch.rows[kind] = made
    batch.errors = len(rows["error"])
    with Writer() as writer:
        writer.write(batch.batch)


def _add_step(batch: BatchBuilder, add: Callable[..., None], step: int) -> None:
    time, key, group = START + step * STEP, key_of(step), f"load-{step % 7}"
    worker = (FIRST, SECOND)[step % 2]
    submitted, failed = step % 10 == 3, step % 25 == RARE
    traceback = f"Traceback\nZeroDivisionError: {step}" if failed else ""
    for repeat in range(3):  # of one instant
        message = MESSAGES[(step + repeat) % len(MESSAGES)].format(step=step)
        level, logger = (10, 20, 30)[repeat], ("distributed.worker", "etl.orders")[repeat % 2]
        add("log", time, "worker", worker, level, logger, message, traceback, 7)
    if step == RARE:
        add("log", time + 1, "nanny", SECOND, 40, "distributed.nanny", "A Needle in hay", "", 8)
    add("log", time, "scheduler", "", 20, "distributed.core", "scheduled", "", 1)
    add("task", time, "c1", key, "(0,)", 0, {}, {})
    if step:
        add("dependency", time, "c1", key, key_of(step - 1))
    if submitted:
        return
    status = Status.ERROR if failed else Status.OK
    batch.add(Span(worker, 1, key, "load", group, Action.COMPUTE, time, time + 2, 10, "int", status))
    batch.add(Span(worker, 1, key, "load", group, Action.TRANSFER, time + 3, time + 4, 10, "int"))
    add("transfer", time + 3, time + 4, worker, (SECOND, FIRST)[step % 2], 0, 10, 10, {key: 10}, 1)
    add("steal", time - 1, "request", key, worker, FIRST, 1, 0.1, 0.2, 0.3)
    add("steal", time, "confirm", key, worker, FIRST, 1, None, None, None)
    add("transition", time, key, "processing", "erred" if failed else "memory", worker, "because")
    add("transition", time + 1, key, "memory", "released", worker, "later")
    if failed:
        add("error", time + 2, key, worker, "erred", "ZeroDivisionError", "by 0", traceback, 1, [worker], 0)
    for number, metric in enumerate(("observatory_worker_memory_bytes", "dask_worker_tasks")):
        batch.add(Sample(Series(metric, (("type", "process"),), worker), time, float(step % 50 + number)))
    batch.events.append(Event(time, "worker-status", worker, {"step": step}))
