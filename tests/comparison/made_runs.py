"""Runs made of spans whose durations are chosen, for what real ones would take long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import Action, Sample, Series, Span, WorkerGone, WorkerSeen

START = 1_780_000_000.0
GIB = 2**30
DETAIL = {
    "python": "3.11.7",
    "machine": ["m5.large"],
    "versions": {"dask": "2026.8.0", "numpy": "2.4.6"},
    "configuration": {"distributed.worker.memory.target": 0.6},
}
THREADS = 2


def make_run(
    cluster: Cluster,
    at: float,
    seconds: Mapping[str, float],
    *,
    name: str = "etl",
    tasks: int = 60,
    tags: Mapping[str, str] | None = None,
    detail: Mapping[str, Any] = DETAIL,
    address: str = "",
    memory: float = 1.0,
) -> Run:
    """A run that began `at` seconds after START; `seconds` is how long a task of each prefix takes, and half
    a percent more or less. Its memory grows from a half of `memory` (GiB) to all of it; a quarter is managed.
    """
    chance = random.Random(f"{at} {name}")
    start = START + at
    address = address or f"tcp://10.0.0.{cluster.pk % 250}:{4000 + round(at) % 60_000}"
    spans, ends = [], [start] * THREADS
    for number in range(tasks):
        for prefix, usual in seconds.items():
            thread = ends.index(min(ends))
            stop = ends[thread] + usual * chance.uniform(0.995, 1.005)
            key = f"{prefix}-{round(at):08x}{number:04x}"
            spans.append(
                Span(address, thread, key, prefix, key, Action.COMPUTE, ends[thread], stop, 1000, "int")
            )
            ends[thread] = stop
    stop = max(ends)
    used = [
        (start + second, memory * GIB * (0.5 + second / (2 * (stop - start))))
        for second in range(int(stop - start) + 1)
    ]
    kinds = {"process": 1.0, "managed": 0.25, "unmanaged": 0.75, "spilled": 0.0}
    samples = [
        Sample(Series(f"observatory_{of}_memory_bytes", (("type", kind),), worker), time, value * share)
        for of, worker in (("worker", address), ("cluster", ""))
        for kind, share in kinds.items()
        for time, value in used
    ]
    seen = WorkerSeen(address, "w0", "10.0.0.1", THREADS, 4 * GIB, start, "running", {}, detail)
    gone = [WorkerGone(address, stop + 0.1, "removed")]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, [seen], spans, samples, [], gone))
    return Run.objects.create(
        cluster=cluster,
        name=name,
        origin=Run.Origin.CUT,
        outcome=Run.Outcome.FINISHED,
        start=from_seconds(start),
        stop=from_seconds(stop),
        tags=dict(tags or {}),
        tasks=len(spans),
        counted=timezone.now(),
    )
