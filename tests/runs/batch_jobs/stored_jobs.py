"""Stores workers that ran in jobs of batch systems, with their memory and CPU over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import Action, Sample, Series, Span, WorkerGone, WorkerSeen
from observatory.wire.workers.batch_jobs import BATCH_JOB, BatchJob

START = 1_780_000_000.0
GIB = 2**30
MINUTE = 60.0
THRESHOLDS = {f"distributed.worker.memory.{name}": share for name, share in
              {"target": 0.6, "spill": 0.7, "pause": 0.8, "terminate": 0.95}.items()}  # fmt: skip


def slurm_job(id: str = "12", **facts: Any) -> BatchJob:
    """A job that asked for 16 GiB and 4 cores, and waited for 30 s."""
    known = {
        **{"name": "dask-worker", "queue": "short", "account": "physics", "node": "node1", "nodes": 1},
        **{"cores": 4, "memory": 16 * GIB, "option": "--mem", "time_limit": 3_600.0},
        **{"started": START - 10, "waited": 30.0, "site": "alps", **facts},
    }
    return BatchJob("slurm", id, **known)


def store_worker(
    cluster: Cluster,
    name: str,
    job: BatchJob | None,
    memory: Mapping[float, float] | float = 1.0,
    cores: float = 1.0,
    seconds: float = 2 * MINUTE,
    limit: float = 16.0,
    spilled: float = 0.0,
    managed: float = 0.0,
    thresholds: Mapping[str, Any] = THRESHOLDS,
    host: str = "node1",
) -> str:
    """A worker from START on, with its memory (GiB, constant or by time), and a task in each second."""
    address = f"tcp://{host}:{sum(map(ord, name)) + 1000}"
    detail: dict[str, Any] = {"python": "3.12.1", "configuration": dict(thresholds)}
    if job is not None:
        detail[BATCH_JOB] = job.detail()
    times = [float(at) for at in range(int(seconds))]
    by_time = memory if isinstance(memory, Mapping) else dict.fromkeys(times, memory)

    def samples(metric: str, values: Mapping[float, float], **labels: str) -> list[Sample]:
        series = Series(metric, tuple(labels.items()), address)
        return [Sample(series, START + at, value) for at, value in values.items()]

    def of_memory(type: str, values: Mapping[float, float]) -> list[Sample]:
        in_bytes = {at: gib * GIB for at, gib in values.items()}
        return samples("observatory_worker_memory_bytes", in_bytes, type=type)

    told = [
        *of_memory("process", by_time),
        *of_memory("managed", dict.fromkeys(times, managed)),
        *of_memory("spilled", dict.fromkeys(times, spilled)),
        *samples("observatory_worker_cpu_percent", dict.fromkeys(times, 100 * cores)),
    ]
    spans = [
        Span(address, 1, f"{name}-{at}", "work", "work-1", Action.COMPUTE, START + at, START + at + 0.9)
        for at in times
    ]
    seen = WorkerSeen(address, name, host, 4, round(limit * GIB), START, detail=detail)
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, [seen], spans, told))
        writer.write(
            Batch.of(
                cluster.pk,
                gone=[WorkerGone(address, START + seconds, "closed")],
                committed=START + seconds,
            )
        )
    return address


def make_run(cluster: Cluster, seconds: float = 2 * MINUTE, is_open: bool = False) -> Run:
    """The first `seconds` of the workers; its figures are counted."""
    start = from_seconds(START)
    run = Run.objects.create(
        cluster=cluster,
        name="etl",
        origin=Run.Origin.CODE,
        outcome=Run.Outcome.RUNNING if is_open else Run.Outcome.FINISHED,
        start=start,
        stop=None if is_open else start + timedelta(seconds=seconds),
    )
    refresh_figures(run)
    return run
