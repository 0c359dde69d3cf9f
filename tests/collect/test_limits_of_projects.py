"""What agents of a project make grow has limits that hold over all web processes."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache.backends.locmem import LocMemCache

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.collect.agents import series_limits
from observatory.collect.agents import writers as of_agents
from observatory.collect.collector.clusters import registry
from observatory.store.connection import connect
from observatory.store.ingest import agents as stored_agents
from observatory.store.ingest import source_limits
from observatory.store.ingest import writer as writers
from observatory.store.ingest.interning import lifetimes, series, stacks
from observatory.store.ingest.resumption import new_series
from observatory.store.ingest.source_limits import Rows, SourceLimits
from observatory.wire.records import Series
from tests.collect.agents import WORKER, Agent, agent, count, project

__all__ = ["agent", "count", "project"]


@pytest.fixture(autouse=True)
def _a_new_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = SourceLimits(LocMemCache(uuid4().hex, {}))
    for module in (lifetimes, series, stacks, writers, registry):
        monkeypatch.setattr(module, "SOURCE_LIMITS", limits)


@pytest.fixture
def stranger(project: Project) -> Agent:
    """Of another project."""
    other = Project.objects.create(name="Other", slug="other")
    return Agent(ingest_tokens.make(other, "t", None)[1])


def few(monkeypatch: pytest.MonkeyPatch, rows: Rows, most: int) -> None:
    monkeypatch.setitem(source_limits.MOST_ROWS, rows, most)  # type: ignore[arg-type]


def spans(agent: Agent, *workers: int) -> dict[str, Any]:
    """A span of each of these workers."""
    return {"span": [(f"tcp://10.0.0.{number}:4000", *agent.span(number)[1:]) for number in workers]}


def test_a_project_begins_so_many_workers_threads_and_series_an_hour_and_then_waits(
    agent: Agent, stranger: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.REFERRED, 10)
    assert agent.send(spans(agent, 1, 2, 3, 4)) == 200  # and as many threads
    body = agent.body(spans(agent, 5, 6))
    for _ in range(2):
        assert agent.post(body) == 429
        assert agent.answer["detail"].startswith(
            "more than 10 new workers, threads, series and stacks may not"
        )
        assert 0 < float(agent.headers["Retry-After"]) <= 3_600
    second = Agent(agent.secret, "Scheduler-2")
    assert second.send(spans(second, 1)) == 200
    assert second.send(spans(second, 1, 1)) == 200, "what is known is stored"
    assert second.send(spans(second, 2)) == 429
    assert stranger.send(spans(stranger, 1, 2, 3, 4, 5)) == 200
    assert (count("worker"), count("lane"), count("span")) == (10, 10, 12)
    few(monkeypatch, Rows.REFERRED, 100)
    assert agent.post(body) == 200


def test_a_batch_that_alone_has_more_is_refused_for_good(
    agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.REFERRED, 5)
    assert agent.send(spans(agent, 1, 2, 3)) == 413
    assert agent.answer["detail"] == (
        "the batch has 6 new workers, threads, series and stacks: at most 5 may begin in an hour"
    )
    assert Cluster.objects.count() == 0
    names = [json.dumps(["m", {"n": str(number)}, "", 1]) for number in range(6)]
    assert agent.send({"sample": [(agent.since, 1.0, name) for name in names]}) == 413
    lines = [(agent.since, "", "event-loop", "", f"f{number}\tfile\t1", 1) for number in range(6)]
    assert agent.send({"profile": lines}) == 413
    assert (count("worker"), count("series"), count("stack")) == (0, 0, 0)


def test_a_project_begins_so_many_clusters_an_hour(
    agent: Agent, stranger: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.CLUSTERS, 3)
    several = [Agent(agent.secret, f"Scheduler-{number}") for number in range(5)]
    statuses = [each.send({"span": [each.span(1)]}) for each in several]
    assert statuses == [200, 200, 200, 429, 429]
    assert "more than 3 new clusters may not begin in an hour" in several[-1].answer["detail"]
    assert several[0].send({"span": [several[0].span(2)]}) == 200
    assert stranger.send({"span": [stranger.span(1)]}) == 200


def test_a_project_has_a_limit_of_clusters(
    agent: Agent, stranger: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MOST_CLUSTERS", 1)
    assert agent.send({"span": [agent.span(1)]}) == 200
    second = Agent(agent.secret, "Scheduler-2")
    assert second.send({"span": [second.span(1)]}) == 413
    assert second.answer["detail"] == "the project has 1 clusters: delete old ones"
    assert agent.send({"span": [agent.span(2)]}) == 200
    assert stranger.send({"span": [stranger.span(1)]}) == 200


def test_a_project_begins_so_many_runs_an_hour(
    agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, Rows.RUNS, 5)

    def runs(number: int) -> dict[str, Any]:
        start = agent.since
        return {"run": [(start, start, uuid4().hex, "running", "r", "{}", "", "", "") for _ in range(number)]}

    assert [agent.send(runs(4)), agent.send(runs(2)), agent.send(runs(6)), agent.send(runs(1))] == [
        200,
        429,
        413,
        200,
    ]
    assert count("opened_run") == 5


def test_a_cluster_has_a_limit_of_agents(agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_agents, "MOST_AGENTS", 2)
    statuses = [Agent(agent.secret).send({"span": [agent.span(number)]}) for number in range(4)]
    assert statuses == [200, 200, 422, 422]
    assert (count("agent"), count("span")) == (2, 2)


def samples(agent: Agent, *numbers: int) -> dict[str, Any]:
    names = [json.dumps(["others_metric", {"n": str(number)}, WORKER, 1]) for number in numbers]
    return {"sample": [(agent.since + 1, 1.0, name) for name in names]}


def test_processes_together_admit_a_cluster_its_series(
    agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_limits, "SERIES", 4)
    processes: list[dict[int, Any]] = [{}, {}]
    for turn, numbers in enumerate([(1, 2), (3, 4), (5, 6), (7, 8), (1, 4)]):
        # each process remembers what it admitted itself
        series_limits._known.clear()
        series_limits._known.update(processes[turn % 2])
        assert agent.send(samples(agent, *numbers)) == 200
        processes[turn % 2] = dict(series_limits._known)
        assert agent.answer["refused"] == (2 if turn in (2, 3) else 0)
    assert count("series") == 4
    assert count("sample") == 6


def test_an_agent_whose_batches_are_missing_here_does_not_make_all_series_be_read_each_time(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ingest token with 200,000 series would have each of its batches read as many."""
    read: list[int] = []

    def noted(cluster: int, after: int) -> tuple[list[Series], int]:
        found, last = new_series(cluster, after)
        read.append(len(found))
        return found, last

    monkeypatch.setattr(series_limits, "new_series", noted)
    series_limits._known.clear()
    assert agent.send(samples(agent, *range(100))) == 200
    for number in range(100, 105):
        agent.sequence += 1  # a batch that reached another process
        assert agent.send(samples(agent, number)) == 200
    assert read == [100, 1, 1, 1, 1]


def test_series_of_workers_that_left_by_another_process_are_forgotten_in_time(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_limits, "SERIES", 2)
    series_limits._known.clear()
    assert agent.send(samples(agent, 1, 2)) == 200
    before = deepcopy(dict(series_limits._known))
    assert agent.send({"gone": [(agent.since + 2, WORKER, "left")]}) == 200
    series_limits._known.update(before)  # this process hasn't heard of it
    agent.sequence += 1
    assert agent.send(samples(agent, 3)) == 200
    assert agent.answer["refused"] == 1
    monkeypatch.setattr(series_limits, "FORGETTING", 0.0)
    agent.sequence += 1
    assert agent.send(samples(agent, 4)) == 200
    assert agent.answer["refused"] == 0


def test_a_batch_that_hangs_on_a_lock_gives_its_writer_back_and_is_sent_again(
    agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agent.send({"span": [agent.span(1)]}) == 200
    monkeypatch.setattr(writers, "TIMEOUTS", "SELECT set_config('lock_timeout', '100ms', true)")
    body = agent.body({"span": [agent.span(2)]})
    with connect() as other, other.transaction():
        other.execute("SELECT FROM extent FOR UPDATE")
        for _ in range(2 * of_agents.WRITERS):
            assert agent.post(body) == 503
    assert of_agents._writers.qsize() == of_agents.WRITERS
    assert agent.post(body) == 200
    assert count("span") == 2
