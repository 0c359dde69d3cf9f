"""Records of far times cost no partitions beyond a few days an hour, and nothing of the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache.backends.locmem import LocMemCache

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.writing.outbox import Outbox
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.ingest.source_limits import MOST_DAYS, SourceLimits
from observatory.store.ingest.writer import Writer
from observatory.store.schema.time_series import table_of
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.collect.agents import WORKER, Agent, Rows, agent, count, project

__all__ = ["agent", "count", "project"]

DAY = 86_400.0
KINDS = ("transition", "log", "steal", "shuffle")
RESTS: dict[str, tuple[Any, ...]] = {
    "transition": ("inc-1", "waiting", "processing", WORKER, "why"),
    "log": ("worker", WORKER, 30, "distributed", "careful", "", 1),
    "steal": ("confirm", "inc-1", WORKER, WORKER, 2, 0.1, 0.2, 0.3),
    "shuffle": ("f00d", "comm", "read", 1e6),
}


@pytest.fixture(autouse=True)
def begin_hour(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def begin() -> None:
        limits = SourceLimits(LocMemCache(uuid4().hex, {}))
        monkeypatch.setattr("observatory.store.ingest.writer.SOURCE_LIMITS", limits)

    begin()
    return begin


@pytest.fixture
def old_days(project: Project) -> list[float]:
    """Times on days that have no partition, the latest first; within the project's retention."""
    project.retention_days = 3_650
    project.save()
    noon = time.time() // DAY * DAY + DAY / 2
    times = [noon - days * DAY for days in range(700, 3_600)]
    with connect() as connection:
        missing = set.intersection(
            *(
                choose(connection).missing(
                    connection, table_of(kind), [from_seconds(t).date() for t in times]
                )
                for kind in KINDS
            )
        )
    return [time for time in times if from_seconds(time).date() in missing]


def rows(times: list[float]) -> Rows:
    return {kind: [(time, *RESTS[kind]) for time in times] for kind in KINDS}


def partitions() -> int:
    with connect() as connection:
        row = connection.execute(
            """SELECT count(*) FROM pg_class WHERE relkind = 'r' AND
               (relname ~ '_[0-9]{8}$' OR relname ~ '^_hyper_[0-9]+_[0-9]+_chunk$')"""
        ).fetchone()
    assert row is not None
    return int(row[0])


def old(agent: Agent, times: list[float]) -> dict[str, float]:
    """Of the head of an agent whose scheduler is older than the records."""
    return {"started": min(times) - DAY, "since": min(times), "committed": max(times)}


def test_records_from_before_the_schedulers_start_are_refused_by_number_and_the_others_stored(
    agent: Agent, count: Any
) -> None:
    before = partitions()
    far = [agent.since - (2 + days) * DAY for days in range(100)]
    for _ in range(7):
        assert agent.send({**rows(far), "span": [agent.span(1)]}) == 200
        assert agent.answer["refused"] == len(KINDS) * len(far)
        assert agent.answer["detail"].startswith("400 records are from before ")
    assert partitions() - before <= len(KINDS) + 1
    assert count("span") == 7
    assert [count(kind) for kind in KINDS] == [0, 0, 0, 0]
    assert "400 records are from before" in str(ingest_refusals.current().get())


def test_records_older_than_retention_are_refused_however_old_the_scheduler_says_it_is(
    agent: Agent, count: Any
) -> None:
    times = [agent.since - 40 * DAY, agent.since - 20 * DAY, agent.since]
    assert agent.send(rows(times), **old(agent, times)) == 200
    assert agent.answer["refused"] == len(KINDS)
    assert count("log") == 2


def test_what_lies_a_few_hours_before_the_start_is_stored(agent: Agent, count: Any) -> None:
    """Workers may be older than their scheduler, and clocks differ."""
    assert agent.send(rows([agent.since - 20 * 3600])) == 200
    assert agent.answer["refused"] == 0
    assert count("log") == 1


def test_a_batch_begins_at_most_some_new_days(agent: Agent, count: Any, old_days: list[float]) -> None:
    before, times = partitions(), [*old_days[:100], agent.since]
    assert agent.send(rows(times), **old(agent, times)) == 200
    assert agent.answer["refused"] == len(KINDS) * (100 - MOST_DAYS)
    assert f"records lie on {100 - MOST_DAYS} new days" in agent.answer["detail"]
    assert partitions() - before <= len(KINDS) * (MOST_DAYS + 1)
    assert count("log") == MOST_DAYS + 1


def test_a_project_that_begins_more_has_to_wait_and_no_other(
    agent: Agent, old_days: list[float], begin_hour: Callable[[], None]
) -> None:
    times = old_days[:MOST_DAYS]
    assert agent.send(rows(times), **old(agent, times)) == 200
    before, later = partitions(), Agent(agent.secret, "Scheduler-2")
    body = later.body(rows(old_days[MOST_DAYS : MOST_DAYS + 1]), **old(agent, old_days[: MOST_DAYS + 1]))
    assert later.post(body) == 429
    assert 3_500 < float(later.headers["Retry-After"]) <= 3_600
    assert (partitions(), Cluster.objects.count()) == (before, 1)
    # what needs no new day is stored meanwhile, also of the days that were begun
    assert agent.send({"log": [(agent.since, *RESTS["log"])]}) == 200
    assert agent.send(rows(times), **old(agent, times)) == 200
    other = Project.objects.create(name="Other", slug="other", retention_days=3_650)
    stranger = Agent(ingest_tokens.make(other, "t", None)[1])
    assert (
        stranger.send(rows(old_days[MOST_DAYS : 2 * MOST_DAYS]), **old(agent, old_days[: 2 * MOST_DAYS]))
        == 200
    )
    begin_hour()
    assert later.post(body) == 200


def test_a_spool_that_is_sent_days_later_is_stored(agent: Agent, count: Any) -> None:
    """A day a batch, all within an hour: as many as the limit permits, and those of the days after."""
    start = agent.since - 8 * DAY
    for day in range(9):
        times = [start + day * DAY + hour * 3600 for hour in range(24) if day < 8 or hour == 0]
        assert agent.send(rows(times), **old(agent, [start, start + 9 * DAY])) == 200
        assert agent.answer["refused"] == 0
    assert count("transition") == 8 * 24 + 1


def test_a_hostile_scheduler_begins_no_more_days(project: Project, old_days: list[float]) -> None:
    """What is scraped cannot wait: records of further days are refused, and counted."""
    then = from_seconds(old_days[-1])
    cluster = Cluster.objects.create(project=project, scheduler_id="s", started=then, last_seen=then)
    before = partitions()
    refused = 0
    with Writer() as writer:
        for start in range(0, 60, 20):
            outbox = Outbox(Counters())
            outbox.open(cluster.pk)
            for each in old_days[start : start + 20]:
                outbox.add(Event(each, "restarted"))
            refused += writer.write(outbox.batches[0].complete().batch).refused
    assert partitions() - before == MOST_DAYS
    assert refused == 60 - MOST_DAYS
