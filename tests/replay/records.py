"""A cluster of two workers with a few records."""

from __future__ import annotations

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen

A, B = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"


def make_span(key: str, start: float, stop: float, worker: str = A, action: Action = Action.COMPUTE) -> Span:
    prefix = key.split("-")[0]
    return Span(worker, 1, key, prefix, prefix, action, start, stop, 28, "int")


def fill(writer: Writer, cluster: Cluster, now: float) -> None:
    memory = Series("observatory_worker_memory_bytes", (("type", "process"),), A)
    waiting = Series(
        "dask_scheduler_prefix_state_totals_total", (("state", "waiting"), ("task_prefix_name", "inc"))
    )
    writer.write(
        Batch.of(
            cluster.pk,
            workers=[
                WorkerSeen(A, "a", "127.0.0.1", 2, 1000, now),
                WorkerSeen(B, "b", "127.0.0.1", 2, 0, now),
            ],
            spans=[
                make_span("inc-1", now + 1, now + 1.25),
                make_span("inc-2", now + 2, now + 12),
                make_span("inc-2", now + 1.5, now + 2, action=Action.TRANSFER),
                make_span("sum-<img src=x onerror=alert(1)>", now + 3, now + 8, B),
            ],
            samples=[
                *(Sample(memory, now + second, 100.0 + second) for second in range(10)),
                Sample(waiting, now + 2, 7.0),
            ],
            events=[Event(now + 4, "worker-lost", B, {"message": "gone"})],
            committed=now + 20,
        )
    )
