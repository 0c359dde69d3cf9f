"""An outbox with what empties it, on the database of a test, and records for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from observatory.collect.collector.clusters.rest import Rest
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.writing.flusher import Flusher
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.collector.writing.writer_threads import WriterThread
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.outages import free_space
from observatory.wire.records import Action, Span, WorkerSeen
from tests.collect.observer import read

CLUSTER = 2_000_004_711
WORKER = "tcp://127.0.0.1:1"


def span(start: float, nbytes: int = 1) -> Span:
    return Span(WORKER, 1, f"inc-{start}", "inc", "inc", Action.COMPUTE, start, start + 0.5, nbytes)


def seen(moment: float) -> WorkerSeen:
    return WorkerSeen(WORKER, "w", "127.0.0.1", 1, 0, moment)


class Output:
    """An outbox and its flusher on the test's database."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.outbox = Outbox(self.counters)
        self.outbox.open(CLUSTER)
        self.published: list[Committed] = []
        self.allowed = True
        self.load = ProcessLoad()
        self.thread = WriterThread()
        observing = asyncio.Event()
        observing.set()
        self.flusher = Flusher(
            self.outbox,
            time.time,
            time.time,
            lambda: self.allowed,
            self.publish,
            lambda: 0.0,
            Rest(lambda: None).sleep,
            observing,
            self.load,
            self.thread,
        )

    async def publish(self, cluster: int, committed: Committed) -> None:
        self.published.append(committed)


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Iterator[Output]:
    monkeypatch.setattr(free_space, "LIFETIME", 0.0)
    made = Output()
    yield made
    made.thread.close()


async def dropped_events() -> list[tuple[str, int, str, float, float]]:
    return await read(
        """SELECT detail->>'kind', (detail->>'count')::int, detail->>'reason',
               (detail->>'first')::float8, (detail->>'last')::float8
           FROM event WHERE kind = 'records-dropped' AND cluster_id = %s ORDER BY 1""",
        CLUSTER,
    )
