"""Series of GPUs: in a large cluster those of all workers and of all GPUs together are one."""

from __future__ import annotations

from collections import Counter

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.tiles.each_worker import METRICS
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries import timeline
from observatory.wire.layers import LAYERS
from observatory.wire.records import Sample, Series
from tests.replay.records import A, B, fill


def test_gpus_of_all_workers_are_together_by_what_is_measured(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    fill(writer, cluster, now)
    samples = []
    for worker in (A, B):
        for gpu in range(2):
            labels = (("device", f"GPU-{worker}-{gpu}"), ("gpu", str(gpu)), ("model", "T4"))
            for metric, kind in (
                ("memory_bytes", "used"),
                ("memory_bytes", "total"),
                ("utilization_percent", ""),
            ):
                own = (*labels, *([("type", kind)] if kind else []))
                series = Series(f"observatory_worker_gpu_{metric}", own, worker)
                samples.append(Sample(series, now + 1, 50.0 + gpu))
    writer.write(Batch.of(cluster.pk, samples=samples))
    series = timeline.layer_series(direct, cluster.pk, LAYERS["gpu"], None)
    assert len(series) == 12
    assert (
        sorted(sum(one.first == first for one in series) for first in {one.first for one in series})
        == [4] * 3
    )
    of_each = timeline.worker_series(direct, cluster.pk, METRICS["gpu"])
    assert sorted(Counter(one.worker for one in of_each).values()) == [2, 2]
    assert {one.metric for one in of_each} == {"observatory_worker_gpu_utilization_percent"}
