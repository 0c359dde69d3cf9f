"""What agents send is stored exactly once, whatever happens to it; what can't be right is refused by name."""

from __future__ import annotations

import dataclasses
import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection as django_connection
from django.test import Client
from django.utils import timezone

from observatory.clusters.models import Cluster, Project, Target
from observatory.clusters.tokens import ingest_tokens
from observatory.collect.agents.body import COMPRESSED, UNPACKED
from observatory.collect.collector.registry import unnamed_cluster_of
from observatory.collect.tasks import end_silent_clusters
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.batches import encode_head, encode_rows
from observatory.wire.blocks import Column, encode
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen

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
        self.answer = json.loads(response.content)
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


def test_a_batch_appears_as_a_cluster_under_its_name(agent: Agent, project: Project, count: Any) -> None:
    assert agent.send({"span": [agent.span(1), agent.span(2)], "transition": [agent.transition(1)]}) == 200
    assert agent.answer == {"sequence": 1, "refused": 0, "already": False}
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.project, cluster.scheduler_id) == ("etl", project, agent.scheduler_id)
    assert (count("span"), count("transition")) == (2, 1)


def test_the_same_batch_is_stored_once_however_often_it_comes(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)], "log": [_line(agent)]})
    answers = [(agent.post(body), agent.answer["already"]) for _ in range(3)]
    assert answers == [(200, False), (200, True), (200, True)]
    assert (count("span"), count("log")) == (1, 1)


def test_the_same_batch_from_many_connections_at_once_is_stored_once(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)], "error": [_error(agent)]})

    def post(_: int) -> int:
        try:
            return Agent(agent.secret).post(body)
        finally:
            django_connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, range(16))) == {200}
    assert (count("span"), count("error")) == (1, 1)


def test_an_older_batch_that_comes_late_from_a_lost_connection_is_not_stored_again(
    agent: Agent, count: Any
) -> None:
    first = agent.body({"span": [agent.span(1)]})
    second = agent.body({"span": [agent.span(2)]})
    assert agent.post(first) == agent.post(second) == 200
    assert (agent.post(first), agent.answer["already"]) == (200, True)
    assert count("span") == 2


def test_a_batch_survives_that_the_databases_connections_are_killed(agent: Agent, count: Any) -> None:
    assert agent.send({"span": [agent.span(1)]}) == 200
    with connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'observatory%%'"
            " AND pid <> pg_backend_pid()"
        )
    body = agent.body({"span": [agent.span(2)]})
    status = agent.post(body)
    if status == 503:  # Django's own connection was the broken one: the agent sends it again
        status = agent.post(body)
    assert status == 200
    with connect() as connection:
        cluster = Cluster.objects.get().pk
        row = connection.execute("SELECT count(*) FROM span WHERE cluster_id = %s", [cluster]).fetchone()
    assert row == (2,)


def test_what_was_scraped_before_the_agents_first_batch_came_is_not_doubled(
    agent: Agent, project: Project, count: Any
) -> None:
    cluster = _scraped_cluster(agent, project)
    _scrape(cluster, agent)
    assert count("span") == 3
    assert agent.send({"span": [agent.span(1), agent.span(2)], "event": [_event(agent)]}) == 200
    assert Cluster.objects.count() == 1
    assert count("span") == 3, "two of the agent's, and one from before it came"
    assert count("event") == 1
    assert count("extent", f"cluster_id = {cluster} AND spans = 3") == 1


def test_what_is_scraped_after_the_agent_came_is_not_doubled(
    agent: Agent, project: Project, count: Any
) -> None:
    cluster = _scraped_cluster(agent, project)
    assert agent.send({"span": [agent.span(1), agent.span(2)], "sample": [_sample(agent, 5)]}) == 200
    _scrape(cluster, agent)
    assert count("span") == 2
    assert count("sample", "series_id IN (SELECT id FROM series WHERE metric LIKE 'observatory_%')") == 1
    assert count("sample") == 2, "what Dask's own pages tell beyond the agent's is kept"


def test_a_collector_that_goes_on_notices_that_an_agent_came(
    agent: Agent, project: Project, count: Any
) -> None:
    cluster = _scraped_cluster(agent, project)
    with Writer() as collector:
        for _ in range(2):
            _scrape(cluster, agent, collector)
        assert agent.send({"span": [agent.span(1), agent.span(2)]}) == 200
        before = count("span")
        for _ in range(2):
            _scrape(cluster, agent, collector)
    assert count("span") == before
    assert count("sample", "series_id IN (SELECT id FROM series WHERE metric LIKE 'observatory_%')") == 0


def test_a_scheduler_that_could_not_say_its_id_has_one_cluster_whoever_was_first(
    agent: Agent, project: Project
) -> None:
    target = Target.objects.create(project=project, name="busy", url="http://10.1.2.3:8787")
    address, process_start = agent.head().address, agent.head().started - 2
    scraped, _ = unnamed_cluster_of(target, address, process_start)
    assert agent.send({}) == 200
    [cluster] = Cluster.objects.all()
    assert (cluster.pk, cluster.scheduler_id) == (scraped.pk, agent.scheduler_id)

    another = dataclasses.replace(agent, id=uuid4().hex, scheduler_id="Scheduler-another", sequence=0)
    Cluster.objects.all().delete()
    assert another.send({}) == 200
    found, is_new = unnamed_cluster_of(target, address, process_start)
    assert (found.scheduler_id, is_new) == ("Scheduler-another", False)
    assert Cluster.objects.get().target == target


def test_a_restarted_schedulers_cluster_with_agent_a_cluster_of_its_own(agent: Agent) -> None:
    agent.send({"span": [agent.span(1)]})
    other = Agent(agent.secret, scheduler_id="Scheduler-after-it")
    assert other.send({"span": [other.span(1)]}) == 200
    assert Cluster.objects.count() == 2


def test_an_agent_can_not_report_of_two_clusters(agent: Agent) -> None:
    agent.send({"span": [agent.span(1)]})
    assert agent.send({"span": [agent.span(2)]}, scheduler_id="Scheduler-else") == 422
    assert "another cluster" in agent.answer["detail"]
    assert Cluster.objects.count() == 1  # a refused batch leaves none behind


def test_a_cluster_without_a_name_is_named_by_its_start_until_its_agent_knows_a_name(agent: Agent) -> None:
    started = datetime.fromtimestamp(agent.since - 50, UTC)
    for unnamed in ("", agent.scheduler_id):
        assert agent.send({}, name=unnamed) == 200
        assert Cluster.objects.get().name == f"cluster of {started:%H:%M}"
    agent.send({}, name="etl.py")
    agent.send({}, name="")
    assert Cluster.objects.get().name == "etl.py"


def test_tokens_of_two_projects_make_two_clusters(agent: Agent) -> None:
    other = Project.objects.create(name="Other", slug="other")
    stranger = Agent(ingest_tokens.make(other, "theirs", None)[1])
    assert agent.send({"span": [agent.span(1)]}) == stranger.send({"span": [stranger.span(1)]}) == 200
    assert set(Cluster.objects.values_list("project__slug", flat=True)) == {"ingest", "other"}


def test_a_revoked_token_is_refused_at_once(agent: Agent, project: Project, count: Any) -> None:
    assert agent.send({"span": [agent.span(1)]}) == 200
    ingest_tokens.revoke(project, project.ingest_tokens.get().pk)
    assert agent.send({"span": [agent.span(2)]}) == 401
    assert "revoked" in agent.answer["detail"]
    assert count("span") == 1


@pytest.mark.parametrize("secret", ["", "obs_" + "x" * 43, "x" * 10_000, "obs_\x00", "obs_ümlaut"])
def test_without_a_known_token_nothing_is_read(project: Project, secret: str) -> None:
    agent = Agent(secret)
    assert agent.post(b"whatever") == 401
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_bodies_come_compressed_or_not(
    agent: Agent, count: Any, encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    body = agent.body({"span": [agent.span(1)]})
    assert agent.post(body, encoding, compress(body)) == 200
    assert count("span") == 1


def test_gzip_may_come_in_members(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)]})
    middle = len(body) // 2
    members = gzip.compress(body[:middle]) + gzip.compress(body[middle:])
    assert agent.post(body, "gzip", members) == 200
    assert count("span") == 1


def test_a_zip_bomb_is_refused_before_it_fills_the_memory(agent: Agent) -> None:
    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range((UNPACKED >> 20) + 2)) + bomb.flush()
    assert len(data) < 1 << 20
    assert agent.post(b"", "deflate", data) == 413
    assert agent.answer["detail"] == "the body unpacks to more than 64 times its size"


def test_a_body_over_the_limit_is_refused(agent: Agent) -> None:
    assert agent.post(bytes(COMPRESSED + 1)) == 413
    assert agent.answer["detail"] == "the body has more than 16 MiB sent"


@pytest.mark.parametrize(
    ("encoding", "data", "status", "said"),
    [
        ("gzip", b"no gzip at all", 400, "isn't gzip"),
        ("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-4], 400, "ends too early"),
        ("deflate", zlib.compress(b"x" * 1000)[:-4], 400, "ends too early"),
        ("br", b"x", 415, "isn't known"),
        ("identity", b"", 422, "head"),
        ("identity", b"\x00" * 100, 422, ""),
        ("identity", b"\xff" * 1000, 422, ""),
    ],
)
def test_a_body_that_can_not_be_read_is_refused_with_the_reason(
    agent: Agent, encoding: str, data: bytes, status: int, said: str
) -> None:
    assert agent.post(b"", encoding, data) == status
    assert said in agent.answer["detail"]
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("length", [1, 10, 100, 300, -1, -5])
def test_a_truncated_batch_is_refused_whole(agent: Agent, count: Any, length: int) -> None:
    body = agent.body({"span": [agent.span(n) for n in range(50)], "log": [_line(agent)]})
    assert agent.post(body[:length]) == 422
    assert agent.answer["detail"]
    assert (count("span"), count("log")) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "version 1, not 2"),
        ({"agent": "not hexadecimal"}, "agent has to be"),
        ({"sequence": 0}, "sequence has to be"),
        ({"sequence": 2**70}, "sequence has to be"),
        ({"sequence": True}, "sequence has to be"),
        ({"scheduler_id": ""}, "scheduler_id is empty"),
        ({"name": "x" * 501}, "name has to be a text"),
        ({"started": 1e300}, "started has to be seconds"),
        ({"since": "yesterday"}, "since has to be seconds"),
        ({"committed": -1.0}, "committed has to be seconds"),
    ],
)
def test_a_wrong_head_is_named(agent: Agent, changes: dict[str, Any], said: str) -> None:
    assert agent.send({}, **changes) == 422
    assert said in agent.answer["detail"]
    assert not Cluster.objects.exists()


def test_a_kind_that_is_not_known_is_named(agent: Agent) -> None:
    body = agent.body({}) + encode(HOSTILE, 0, [])
    assert agent.post(body) == 422
    assert "kind" in agent.answer["detail"]


def test_a_column_that_is_missing_is_named(agent: Agent) -> None:
    from array import array

    body = agent.body({}) + encode("span", 1, [Column("worker", "text", array("I", [0]), [WORKER])])
    assert agent.post(body) == 422
    assert agent.answer["detail"] == "span has no column thread of type f64"


def test_a_record_that_can_not_be_is_refused_alone_and_counted(agent: Agent, count: Any) -> None:
    good, start = agent.span(1), agent.since + 1
    bad = [
        (WORKER, 1.0, "absurd-1", 0, 1e300, 1e300, 1.0, "int", 0),
        (WORKER, 1.0, "no-time-1", 0, float("nan"), start, 1.0, "int", 0),
        (WORKER, 1.0, "backwards-1", 0, start, start - 1, 1.0, "int", 0),
        (WORKER, float("inf"), "thread-1", 0, start, start + 1, 1.0, "int", 0),
        (WORKER, 1.0, "action-1", 77, start, start + 1, 1.0, "int", 0),
        ("", 1.0, "nobody-1", 0, start, start + 1, 1.0, "int", 0),
    ]
    assert (
        agent.send({"span": [good, *bad], "sample": [(start, 1.0, "no JSON"), (start, 1.0, '["m"]')]}) == 200
    )
    assert agent.answer["refused"] == len(bad) + 2
    assert (count("span"), count("sample")) == (1, 0)


def test_hostile_texts_are_kept_as_texts(agent: Agent, count: Any) -> None:
    nasty = f"{HOSTILE}-\x00\ud800\x1b[31m'; DROP TABLE span; --"
    line = (agent.since + 1, "scheduler", WORKER, 40, HOSTILE, nasty, HOSTILE, 1)
    rows: Rows = {"span": [agent.span(1, key=HOSTILE)], "log": [line], "error": [_error(agent, key=HOSTILE)]}
    body = agent.body({})
    for kind, some in rows.items():
        body += encode_rows(KINDS[kind], [tuple(map(_encodable, row)) for row in some])
    assert agent.post(body) == 200
    assert count("log", "message LIKE '<img%%DROP TABLE%%'") == 1
    assert (count("span"), count("error")) == (1, 1)


def test_when_the_database_is_away_the_agent_is_told_to_come_again(
    agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = agent.body({"span": [agent.span(1)]})

    def away(*_: Any) -> None:
        raise psycopg.OperationalError("the server closed the connection")

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "write", away)
        assert agent.post(body) == 503
    assert (agent.post(body), agent.answer["already"]) == (200, False)
    assert count("span") == 1


def test_the_last_batch_ends_the_cluster_and_what_comes_after_it_is_stored(agent: Agent, count: Any) -> None:
    agent.send({"span": [agent.span(1)]}, is_last=True)
    cluster = Cluster.objects.get()
    assert cluster.ended is not None
    assert cluster.end_reason == "the scheduler closed"
    assert count("worker", "ended IS NULL") == 0
    late = Agent(agent.secret, since=agent.since - 30)
    assert late.send({"span": [late.span(2)]}) == 200
    assert count("span") == 2
    assert Cluster.objects.get().ended is not None


def test_a_cluster_whose_agent_fell_silent_ends_with_all_of_its_workers(agent: Agent, count: Any) -> None:
    agent.send({"span": [agent.span(1)]})
    Cluster.objects.update(agent_heard=timezone.now() - timedelta(hours=1))
    end_silent_clusters()
    assert Cluster.objects.get().ended is not None
    assert (count("worker"), count("worker", "ended IS NULL")) == (1, 0)


def _line(agent: Agent) -> tuple[Any, ...]:
    return (agent.since + 1, "scheduler", "", 30, "distributed.core", "a line", "", 1)


def _error(agent: Agent, key: str = "inc-1") -> tuple[Any, ...]:
    return (agent.since + 1, key, WORKER, "erred", "ValueError", "no", "…", 0, json.dumps([WORKER]), 0)


def _event(agent: Agent) -> tuple[Any, ...]:
    return (agent.since + 1, "worker-added", WORKER, "{}")


def _sample(agent: Agent, after: float) -> tuple[Any, ...]:
    name = json.dumps(["observatory_worker_memory_bytes", {"type": "process"}, WORKER, 1])
    return (agent.since + after, 1e9, name)


def _encodable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _scraped_cluster(agent: Agent, project: Project) -> int:
    started = "2026-01-01T00:00:00Z"
    fields = {"name": "scraped", "started": started, "last_seen": started}
    return Cluster.objects.create(project=project, scheduler_id=agent.scheduler_id, **fields).pk


def _scrape(cluster: int, agent: Agent, collector: Writer | None = None) -> None:
    """What the collector stores of the same two tasks, of one from before the agent, and of its pages."""
    since = agent.since
    spans = [
        Span(
            WORKER,
            1,
            f"inc-{n:032x}",
            "inc",
            "inc",
            Action.COMPUTE,
            since + after,
            since + after + 0.5,
            28,
            "int",
        )
        for n, after in [(0, -20.0), (1, 1.0), (2, 1.0)]
    ]
    samples = [
        Sample(Series("observatory_worker_memory_bytes", (("type", "process"),), WORKER), since + 5, 1e9),
        Sample(Series("dask_worker_threads", (), WORKER), since + 5, 2.0),
    ]
    events = [Event(since + 1, "worker-added", WORKER, {})]
    seen = WorkerSeen(WORKER, "w0", "10.0.0.1", 2, 4_000_000_000, since - 40)
    batch = Batch.of(cluster, [seen], spans, samples, events, committed=since + 10)
    with nullcontext(collector) if collector else Writer() as writer:
        writer.write(batch)
