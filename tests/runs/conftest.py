from __future__ import annotations

from collections.abc import Callable

import pytest

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Span
from tests.replay.conftest import cluster, direct, member, now, stranger, writer
from tests.store.conftest import Make
from tests.support.projects import world

__all__ = ["cluster", "direct", "member", "now", "stranger", "world", "writer"]


@pytest.fixture
def make() -> type[Make]:
    return Make


Work = Callable[..., None]


@pytest.fixture
def work(writer: Writer, cluster: Cluster, make: type[Make]) -> Work:
    """Stores a task of half a second each second from `start` to `stop`; by then all is told.

    A run of the cluster ends when it is idle for ten seconds.
    """
    cluster.project.run_idle_seconds = 10
    cluster.project.save()

    def work(start: float, stop: float, prefix: str = "inc", until: float = 0.0) -> None:
        spans: list[Span] = []
        while start < stop:
            key = f"{prefix}-{start}"
            spans.append(make.span(start, key=key, prefix=prefix, group=prefix, stop=min(start + 0.5, stop)))
            start += 1
        writer.write(Batch.of(cluster.pk, spans=spans, committed=until or stop))

    return work
