"""Records of every kind, as agent and collector write them: in a run, before it and after it."""

from __future__ import annotations

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

START = 1_790_000_000.25
STOP = START + 60
FIRST, SECOND, LATER = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000", "tcp://10.0.0.3:4000"
HUGE = 2**53 + 1
"""no float holds it"""
KEY = "('sum-0a1b', 0, 3)"


def write_everything(cluster: int) -> None:
    head = Head(
        uuid.uuid4().hex, 1, "Scheduler-1", "etl", "tcp://10.0.0.9:8786", START - 100, START - 90, STOP + 300
    )
    batch = BatchBuilder(cluster, head=head, committed=STOP + 300)
    batch.workers = [
        WorkerSeen(
            FIRST, "w0", "10.0.0.1", 2, HUGE, START - 80, "running", {"GPU": 1.0}, {"pid": 7, "ü": [1, None]}
        ),
        WorkerSeen(SECOND, "w1", "10.0.0.2", 1, 0, START + 2.000001),
        WorkerSeen(LATER, "of later", "10.0.0.3", 1, 0, STOP + 10),
    ]
    batch.gone = [WorkerGone(SECOND, START + 40.5, "lost"), WorkerGone(FIRST, STOP + 100, "retired")]
    for time in (START - 20, START + 1.123457, START + 30, STOP + 20):
        _at(batch, time)
    batch.add(
        _span(START - 5, START + 5, key="over-the-edge-1", prefix="over-the-edge", group="over-the-edge-1")
    )
    batch.errors = 4
    with Writer() as writer:
        writer.write(batch.batch)


def _span(start: float, stop: float, worker: str = FIRST, **changes: Any) -> Span:
    usual: dict[str, Any] = {"key": KEY, "prefix": "sum", "group": "sum-0a1b", "action": Action.COMPUTE}
    return Span(
        worker,
        140_664_075_445_952,
        **{**usual, **changes},
        start=start,
        stop=stop,
        nbytes=HUGE,
        typename="int",
    )


def _at(batch: BatchBuilder, time: float) -> None:
    other = f"('load-{int(time)}', 1)"
    for span in (
        _span(time, time + 0.000001),
        _span(time, time + 2, key=other, prefix="load", group=f"load-{int(time)}", status=Status.ERROR),
        _span(time, time + 1, action=Action.TRANSFER),
    ):
        batch.add(span)
    memory = Series("observatory_worker_memory_bytes", (("type", "process"),), FIRST)
    total = Series("dask_scheduler_tasks_total", (("a", "b"), ("c", "ö")), "", MetricType.COUNTER)
    for sample in (
        Sample(memory, time, 0.1 + time),
        Sample(total, time, float("nan")),
        Sample(total, time + 1, 1e300),
    ):
        batch.add(sample)
    batch.events += [
        Event(time, "worker-status", FIRST, {"message": "paused", "deep": {"a": [1, 2.5, None, "é"]}}),
        Event(time, "graph-updated"),
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "transition": [
            (time, KEY, "processing", "memory", FIRST, "because"),
            (time, other, "processing", "a state of later versions", "", ""),
        ],
        "error": [
            (time, other, FIRST, "erred", "ValueError", "no\nmore", "Traceback …", 3, [FIRST, SECOND], 2),
            (time, KEY, "", "retried", "", "", "", 0, [], 0),
        ],
        "log": [
            (time, "worker", FIRST, 30, "distributed.worker", "it is warm", "", 7),
            (time, "scheduler", "", 20, "distributed.core", "x" * 9_999, "y" * 50_000, 2**31),
        ],
        "computation": [
            (time, "c1", "Client-1", "sum(x)\n", [["sum-0a1b", 9]], {"a": 1}, ["outer", "inner"])
        ],
        "group_dependency": [(time, "c1", "sum-0a1b", "load-9", 2**31 + 5)],
        "dependency": [(time, "c1", KEY, other)],
        "task": [(time, "c1", KEY, "(0, 1)", 2, {"retries": 2}, {"GPU": 0.5})],
        "profile": [
            (time, FIRST, "task", "sum", f"main\tmain.py\t1\nsum\tx.py\t{int(time)}", 12),
            (time, "", "event-loop", "", "main\tmain.py\t1", 1),
            (time, FIRST, "native", "sum", "sum\tx.py\t1\ndeflate\tlibz.so\t0", 3),
        ],
        "transfer": [(time, time + 0.5, FIRST, SECOND, 1, 1e15, 0.0, {KEY: 28}, 1)],
        "steal": [(time, "request", KEY, FIRST, SECOND, -1, 0.1, 1e-9, 2.5)],
        "spill": [(time, KEY, FIRST, 1e9), (time + 1, KEY, FIRST, 0.0)],
        "fine_performance": [
            (time, "s1", ["outer", "inner"], "execute", "sum", "thread-cpu", "seconds", 1e-9),
            (time, "s1", ["outer", "inner"], "p2p", "", "disk-read", "bytes", 1e15),
        ],
        "shuffle": [(time, "f00d", "comm", "read", 1e15)],
        "client_activity": [(time, time + 0.5, "f00d", "sending")],
    }
    for kind, made in rows.items():
        batch.rows[kind] = [*batch.rows.get(kind, ()), *made]
