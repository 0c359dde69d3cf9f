from __future__ import annotations

from collections.abc import Callable

import pytest

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import MetricType, Sample, Series, WorkerSeen
from tests.replay.conftest import cluster, direct, now, writer
from tests.support.projects import world

__all__ = ["cluster", "direct", "now", "world", "writer"]

GIB = 2**30
Tell = Callable[..., None]


@pytest.fixture
def tell(writer: Writer, cluster: Cluster, now: float) -> Tell:
    """Stores samples of a metric, `step` seconds apart from `start` on; `worker` is a worker's name."""

    def tell(
        metric: str,
        *values: float,
        worker: str = "",
        start: float = 0.0,
        step: float = 1.0,
        kind: MetricType = MetricType.GAUGE,
        **labels: str,
    ) -> None:
        address = f"tcp://{worker}:4000" if worker else ""
        seen = [WorkerSeen(address, worker, worker, 2, 4 * GIB, now - 10)] if worker else []
        series = Series(metric, tuple(sorted(labels.items())), address, kind)
        samples = [Sample(series, now + start + step * place, value) for place, value in enumerate(values)]
        writer.write(Batch.of(cluster.pk, workers=seen, samples=samples))

    return tell
