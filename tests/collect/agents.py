"""An agent as the server sees it, and what is stored of what it sent."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS

WORKER = "tcp://10.0.0.1:4000"
HOSTILE = "<img src=x onerror=alert(1)>"
Rows = Mapping[str, Sequence[tuple[Any, ...]]]


@dataclass
class Agent:
    """Makes and posts batches as an agent does."""

    secret: str
    scheduler_id: str = "Scheduler-of-the-test"
    id: str = field(default_factory=lambda: uuid4().hex)
    since: float = field(default_factory=lambda: float(int(time.time()) - 100))
    sequence: int = 0
    answer: dict[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """of the answer"""

    def head(self, **changes: Any) -> Head:
        address = "tcp://10.0.0.9:8786"
        head = Head(
            self.id, self.sequence, self.scheduler_id, "etl", address, self.since - 50, self.since, self.since
        )
        return dataclasses.replace(head, **changes)

    def body(self, rows: Rows, **changes: Any) -> bytes:
        """Of the next batch."""
        self.sequence += 1
        blocks = [encode_rows(KINDS[kind], list(some)) for kind, some in rows.items()]
        return b"".join([encode_head(self.head(**changes)), *blocks])

    def post(self, body: bytes, encoding: str = "identity", compressed: bytes | None = None) -> int:
        """The status of the answer, which is kept."""
        response = Client().post(
            "/api/v1/ingest",
            compressed if compressed is not None else body,
            content_type="application/octet-stream",
            headers={"Authorization": f"Bearer {self.secret}", "Content-Encoding": encoding},
        )
        self.answer, self.headers = json.loads(response.content), response.headers
        return response.status_code

    def send(self, rows: Rows, **changes: Any) -> int:
        return self.post(self.body(rows, **changes))

    def span(self, number: int, after: float = 1.0, key: str | None = None) -> tuple[Any, ...]:
        start = self.since + after
        return (WORKER, 1.0, key or f"inc-{number:032x}", 0, start, start + 0.5, 28.0, "int", 0)

    def transition(self, number: int, after: float = 1.0) -> tuple[Any, ...]:
        return (self.since + after, f"inc-{number:032x}", "processing", "memory", WORKER, "task-finished")


@pytest.fixture
def project(transactional_db: None) -> Iterator[Project]:
    project = Project.objects.create(name="Ingest", slug="ingest")
    yield project
    for cluster in Cluster.objects.all():
        delete_cluster(cluster.pk)


@pytest.fixture
def agent(project: Project) -> Agent:
    return Agent(ingest_tokens.make(project, "nightly ETL", None)[1])


@pytest.fixture
def count(project: Project) -> Iterator[Callable[..., int]]:
    with connect() as connection:

        def count(table: str, where: str = "TRUE") -> int:
            ours = "cluster_id IN (SELECT id FROM clusters_cluster)"
            query = f"SELECT count(*) FROM {table} WHERE {ours} AND {where}"
            row = connection.execute(query.encode()).fetchone()
            assert row is not None
            return int(row[0])

        yield count


def make_line(agent: Agent) -> tuple[Any, ...]:
    return (agent.since + 1, "scheduler", "", 30, "distributed.core", "a line", "", 1)


def make_error(agent: Agent, key: str = "inc-1") -> tuple[Any, ...]:
    return (agent.since + 1, key, WORKER, "erred", "ValueError", "no", "…", 0, json.dumps([WORKER]), 0)


def make_event(agent: Agent) -> tuple[Any, ...]:
    return (agent.since + 1, "worker-added", WORKER, "{}")


def make_sample(agent: Agent, after: float) -> tuple[Any, ...]:
    name = json.dumps(["observatory_worker_memory_bytes", {"type": "process"}, WORKER, 1])
    return (agent.since + after, 1e9, name)
