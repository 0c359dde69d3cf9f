"""What agents send is stored exactly once, whatever happens to it."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection as django_connection
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from observatory.agent.delivery.spool import owner_of
from observatory.clusters.models import Cluster, Project, Target
from observatory.clusters.tokens import ingest_tokens
from observatory.collect.collector.clusters.registry import unnamed_cluster_of
from observatory.collect.tasks import end_silent
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.head import AgentStatus
from observatory.wire.kinds import KINDS
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen
from tests.collect.agents import (
    WORKER,
    Agent,
    agent,
    count,
    make_error,
    make_event,
    make_line,
    make_sample,
    project,
)

__all__ = ["agent", "count", "project"]


def test_a_batch_appears_as_a_cluster_under_its_name(agent: Agent, project: Project, count: Any) -> None:
    assert agent.send({"span": [agent.span(1), agent.span(2)], "transition": [agent.transition(1)]}) == 200
    assert agent.answer == {"sequence": 1, "refused": 0, "already": False}
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.project, cluster.scheduler_id) == ("etl", project, agent.scheduler_id)
    assert (count("span"), count("transition")) == (2, 1)


def test_an_agent_learns_which_tokens_are_of_its_project(client: Client, project: Project) -> None:
    _, own = ingest_tokens.make(project, "own", None)
    revoked, older = ingest_tokens.make(project, "older", None)
    ingest_tokens.revoke(project, revoked.pk)
    _, foreign = ingest_tokens.make(Project.objects.create(name="Beta", slug="beta"), "foreign", None)

    def ask(digest: str, token: str = own) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return client.get("/api/v1/ingest/same-project", {"digest": digest}, headers=headers)

    answers = [ask(owner_of("", token)["token"]).json() for token in (own, older, foreign, "obs_never_made")]
    assert [answer["same_project"] for answer in answers] == [True, True, False, False]
    assert ask("%").status_code == ask("0").status_code == 422
    assert ask("0" * 16, older).status_code == 401


def test_the_same_batch_is_stored_once_however_often_it_comes(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)], "log": [make_line(agent)]})
    answers = [(agent.post(body), agent.answer["already"]) for _ in range(3)]
    assert answers == [(200, False), (200, True), (200, True)]
    assert (count("span"), count("log")) == (1, 1)


def test_an_agent_from_before_a_field_sends_without_it_and_the_field_is_empty(
    agent: Agent, count: Any
) -> None:
    older = make_error(agent)
    assert len(older) == len(KINDS["error"].required)
    assert agent.send({"error": [older]}) == 200
    assert agent.send({"error": [(*make_error(agent, "inc-2"), "inc", "1\n[2]")]}) == 200
    assert agent.answer["refused"] == 0
    assert count("error", "function = '' AND arguments = ''") == 1
    assert count("error", "function = 'inc' AND arguments = E'1\\n[2]'") == 1


def test_the_same_batch_from_many_connections_at_once_is_stored_once(agent: Agent, count: Any) -> None:
    body = agent.body({"span": [agent.span(1)], "error": [make_error(agent)]})

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
    assert agent.send({"span": [agent.span(1), agent.span(2)], "event": [make_event(agent)]}) == 200
    assert Cluster.objects.count() == 1
    assert count("span") == 3, "two of the agent's, and one from before it came"
    assert count("event") == 1
    assert count("extent", f"cluster_id = {cluster} AND spans = 3") == 1


def test_what_is_scraped_after_the_agent_came_is_not_doubled(
    agent: Agent, project: Project, count: Any
) -> None:
    cluster = _scraped_cluster(agent, project)
    assert agent.send({"span": [agent.span(1), agent.span(2)], "sample": [make_sample(agent, 5)]}) == 200
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
    end_silent()
    assert Cluster.objects.get().ended is not None
    assert (count("worker"), count("worker", "ended IS NULL")) == (1, 0)


def test_what_a_killed_agent_left_does_not_make_its_cluster_live_again(agent: Agent, count: Any) -> None:
    agent.send({"span": [agent.span(1)]})
    Cluster.objects.update(agent_heard=timezone.now() - timedelta(minutes=10))
    end_silent()
    ended = Cluster.objects.get()
    left = {"span": [agent.span(2, after=40)], "transition": [agent.transition(2, after=40)]}
    assert agent.send(left, status=AgentStatus(is_over=True)) == 200
    later = Cluster.objects.get()
    assert (count("span"), later.end_reason) == (2, "its end was not seen: its agent stopped sending")
    assert ended.ended is not None
    assert later.ended is not None
    assert later.ended > ended.ended
    assert later.agent_heard == ended.agent_heard
    # an agent that was only cut off is alive
    agent.send({"span": [agent.span(3, after=50)]})
    assert Cluster.objects.get().ended is None


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


def test_of_a_known_agents_batch_little_is_asked_and_nothing_is_compiled(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django takes longer to compile a statement than PostgreSQL to run it."""
    for after in (1, 2):
        assert agent.send({"sample": [make_sample(agent, after)]}) == 200
    compiled: list[str] = []
    get_compiler = Query.get_compiler

    def noted(self: Query, *some: Any, **more: Any) -> SQLCompiler:
        compiled.append(self.get_meta().db_table)
        return get_compiler(self, *some, **more)

    monkeypatch.setattr(Query, "get_compiler", noted)
    with CaptureQueriesContext(django_connection) as queries:
        assert agent.send({"sample": [make_sample(agent, 3)]}) == 200
    tables = [query["sql"].split('"')[1] for query in queries if '"' in query["sql"]]
    assert tables == ["clusters_ingesttoken", "clusters_cluster"]
    assert compiled == []
