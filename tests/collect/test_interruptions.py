"""A silent agent and a late collector are noticed, recorded once, and end when the recording goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from observatory.base import redis_server
from observatory.clusters.end_reasons import AGENT_STOPPED
from observatory.clusters.models import Cluster, Project, Target
from observatory.clusters.tokens import ingest_refusals, ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.collector.leases.claims import PREFIX, of_cluster
from observatory.collect.interruptions import FORGOTTEN, LISTENING, listening_for, note_interruptions
from observatory.collect.tasks import SILENCE, end_silent, end_silent_clusters
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.collect.agents import Agent, agent, project

__all__ = ["agent", "project"]

HOUR = 3_600.0
KINDS = ["agent-silent", "agent-heard", "collector-behind", "collector-caught-up"]


@pytest.fixture(autouse=True)
def nothing_refused_yet() -> Iterator[None]:
    ingest_refusals._recorded.clear()
    yield
    ingest_refusals._recorded.clear()


@pytest.fixture
def scraped(project: Project) -> Callable[..., Cluster]:
    """A cluster that a collector has stored up to so many seconds ago."""

    def make(late: float, **fields: Any) -> Cluster:
        known = {"lease_expires": timezone.now() + timedelta(seconds=8), **fields}
        target = Target.objects.create(project=project, name="etl", url="http://etl:8787", **known)
        now = timezone.now()
        cluster = Cluster.objects.create(
            project=project, target=target, scheduler_id="Scheduler-1", name="etl", started=now, last_seen=now
        )
        store(cluster, late)
        return cluster

    return make


def store(cluster: Cluster, late: float) -> None:
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, committed=time.time() - late))


def events() -> list[tuple[str, float, str]]:
    """(kind, time, message)"""
    with connect() as connection:
        rows = connection.execute(
            """SELECT kind, extract(epoch FROM time)::float8, detail->>'message' FROM event
               WHERE kind = ANY(%s) AND cluster_id = ANY(%s) ORDER BY time""",
            [KINDS, list(Cluster.objects.values_list("pk", flat=True))],
        )
        return rows.fetchall()


def kinds() -> list[str]:
    return [kind for kind, _, _ in events()]


def heard(seconds_ago: float) -> None:
    Cluster.objects.update(agent_heard=timezone.now() - timedelta(seconds=seconds_ago))


def test_a_silent_agent_is_recorded_once_until_it_is_heard_again(agent: Agent) -> None:
    agent.send({}, committed=time.time())
    heard(59)
    note_interruptions(HOUR)
    assert kinds() == []
    heard(61)
    note_interruptions(HOUR)
    note_interruptions(HOUR)
    [(kind, silent, message)] = events()
    assert (kind, message) == ("agent-silent", "nothing was heard from its agent for 1 min 1 s")
    assert silent == pytest.approx(time.time() + 61, abs=20)  # by the scheduler's clock, which is ahead here
    agent.send({}, committed=time.time())
    note_interruptions(HOUR)
    note_interruptions(HOUR)
    [_, (kind, ended, message)] = events()
    assert (kind, message) == ("agent-heard", "its agent was heard again")
    assert 0 < ended - silent < 20
    heard(61)
    note_interruptions(HOUR)
    assert kinds() == ["agent-silent", "agent-heard", "agent-silent"]


def test_an_agent_that_was_silent_while_observatory_was_away_is_not(agent: Agent) -> None:
    agent.send({})
    heard(600)
    note_interruptions(59)
    assert kinds() == []
    note_interruptions(61)
    assert kinds() == ["agent-silent"]
    # away again: the silence has not ended
    note_interruptions(0)
    assert kinds() == ["agent-silent"]


def test_the_refusal_of_a_batch_is_named(agent: Agent, project: Project) -> None:
    agent.send({})
    IngestToken.objects.update(name="<img src=x onerror=alert(1)>")
    ingest_tokens.revoke(project, IngestToken.objects.get().pk)
    assert agent.send({}) == 401
    heard(61)
    note_interruptions(HOUR)
    [(_, _, message)] = events()
    assert message == (
        "nothing was heard from its agent for 1 min 1 s; batches with the token "
        "<img src=x onerror=alert(1)> are refused: the token is revoked"
    )


def test_the_end_of_the_cluster_ends_the_silence(agent: Agent) -> None:
    agent.send({})
    heard(121)
    note_interruptions(HOUR)
    end_silent()
    note_interruptions(HOUR)
    note_interruptions(HOUR)
    [_, (kind, _, message)] = events()
    assert (kind, message) == (
        "agent-heard",
        "the cluster ended: its end was not seen: its agent stopped sending",
    )
    assert Cluster.objects.get().agent_silent is None


def test_a_cluster_whose_agent_could_not_send_while_observatory_was_away_has_not_ended(agent: Agent) -> None:
    agent.send({})
    heard(600)
    server = redis_server.connect()
    server.delete(LISTENING)
    end_silent_clusters()
    server.set(LISTENING, time.time() - SILENCE + 60)
    end_silent_clusters()
    assert Cluster.objects.get().ended is None, "it has listened for a minute"
    server.set(LISTENING, time.time() - SILENCE - 1)
    end_silent_clusters()
    assert Cluster.objects.get().end_reason == AGENT_STOPPED


@pytest.mark.parametrize("is_observed", [True, False])
def test_a_silent_cluster_with_a_target_ends_by_its_collector_where_one_observes_it(
    agent: Agent, project: Project, is_observed: bool
) -> None:
    """A target that was given another address does not show the cluster any more."""
    agent.send({})
    heard(600)
    target = Target.objects.create(project=project, name="etl", url="http://etl:8787")
    Cluster.objects.update(target=target)
    with redis_server.connect() as server:
        claim = f"{PREFIX}{of_cluster(Cluster.objects.get().pk)}"
        server.delete(claim)
        if is_observed:
            server.set(claim, target.pk, ex=60)
        end_silent()
        server.delete(claim)
    assert (Cluster.objects.get().ended is None) == is_observed


def test_a_cluster_that_ended_before_is_not_silent(agent: Agent) -> None:
    agent.send({}, is_last=True)
    heard(600)
    note_interruptions(HOUR)
    assert kinds() == []


def test_a_late_collector_is_recorded_until_it_has_caught_up(scraped: Callable[..., Cluster]) -> None:
    cluster = scraped(late=55)
    note_interruptions(HOUR)
    assert kinds() == []
    with connect() as connection:
        connection.execute("UPDATE extent SET committed = now() - interval '65 s'")
    note_interruptions(HOUR)
    note_interruptions(HOUR)
    [(kind, behind, message)] = events()
    assert kind == "collector-behind"
    assert message.startswith("what the collector reads is stored 1 min 3")
    assert behind == pytest.approx(time.time(), abs=20)
    store(cluster, late=1)
    note_interruptions(HOUR)
    assert kinds() == ["collector-behind", "collector-caught-up"]


def test_a_collector_reads_in_time_what_its_target_asks_for(scraped: Callable[..., Cluster]) -> None:
    scraped(late=130, identity_interval=60.0)
    note_interruptions(HOUR)
    assert kinds() == []


def test_the_scheduler_s_clock_is_not_a_delay(scraped: Callable[..., Cluster]) -> None:
    scraped(late=600, clock_offset=-600.0)
    note_interruptions(HOUR)
    assert kinds() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"last_error": "no answer"},
        {"enabled": False},
        {"lease_expires": None},
        {"lease_expires": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
    ids=["unreachable scheduler", "paused target", "no collector yet", "dead collector"],
)
def test_other_failures_are_not_taken_for_a_late_collector(
    scraped: Callable[..., Cluster], fields: dict[str, Any]
) -> None:
    scraped(late=300, **fields)
    note_interruptions(HOUR)
    assert kinds() == []


def test_a_pause_between_two_looks_begins_the_listening_anew() -> None:
    with redis_server.connect() as client:
        client.delete(LISTENING)
        assert [listening_for(client, at) for at in (100.0, 110.0, 125.0)] == [0, 10, 25]
        assert 0 < client.ttl(LISTENING) <= FORGOTTEN
        client.delete(LISTENING)
        assert listening_for(client, 300.0) == 0
        client.delete(LISTENING)
