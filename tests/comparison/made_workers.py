"""Runs of workers with labels and resources, some of which take longer for the tasks of a prefix."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import Action, Sample, Series, Span, WorkerSeen
from tests.comparison.made_runs import DETAIL, GIB, START

THREADS = 2
SECONDS = 60.0


@dataclass
class Worker:
    """A worker of a made run; `factor` is how many times as long its tasks take."""

    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1.0
    slowed: str = "clean"
    memory: float = GIB
    cpu: float = 100.0
    detail: Mapping[str, Any] = field(default_factory=dict)


USUAL = {"load": 0.2, "clean": 0.3, "store": 0.1}


def make_run(cluster: Cluster, workers: list[Worker], seconds: float = SECONDS) -> Run:
    """A run in which each thread computes tasks of the prefixes of USUAL in turn, for so many seconds."""
    chance = random.Random(len(workers))
    seen, spans, samples = [], [], []
    for number, worker in enumerate(workers):
        address = f"tcp://10.0.0.{number}:4000"
        detail = {**DETAIL, "labels": dict(worker.labels), **worker.detail}
        seen.append(
            WorkerSeen(
                address,
                f"w{number}",
                f"10.0.0.{number}",
                THREADS,
                4 * GIB,
                START,
                "running",
                worker.resources,
                detail,
            )
        )
        for thread in range(THREADS):
            at = START
            while at < START + seconds - 1:
                for prefix, usual in USUAL.items():
                    length = usual * chance.uniform(0.98, 1.02)
                    length *= worker.factor if prefix == worker.slowed else 1
                    key = f"{prefix}-{len(spans):08x}{'0' * 24}"
                    spans.append(
                        Span(address, thread, key, prefix, key, Action.COMPUTE, at, at + length, 1000, "int")
                    )
                    at += length
        memory = Series("observatory_worker_memory_bytes", (("type", "process"),), address)
        cpu = Series("observatory_worker_cpu_percent", (), address)
        for second in range(int(seconds)):
            samples.append(Sample(memory, START + second, worker.memory))
            samples.append(Sample(cpu, START + second, worker.cpu))
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, seen, spans, samples, [], committed=START + seconds))
    return Run.objects.create(
        cluster=cluster,
        name="etl",
        origin=Run.Origin.CUT,
        outcome=Run.Outcome.FINISHED,
        start=from_seconds(START),
        stop=from_seconds(START + seconds),
        tasks=len(spans),
        counted=timezone.now(),
    )


def version(name: str, **changes: Any) -> Worker:
    """A worker with this version as its label."""
    return Worker(labels={"version": name}, **changes)
