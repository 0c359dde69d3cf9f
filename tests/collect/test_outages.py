"""Agents and collectors while the database stores nothing, or not everything: nothing is lost untold."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from observatory.agent.delivery import sender
from observatory.clusters.models import Cluster, Target
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.agents import storing
from observatory.collect.quarantine import patience
from observatory.collect.quarantine.folder import files
from observatory.store.connection import connect
from observatory.store.outages import free_space
from tests.collect.agents import WORKER, Agent, agent, make_event, make_line, make_sample, project
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, observed, read
from tests.support.outages import failing, read_only_database

__all__ = ["agent", "project"]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(free_space, "LIFETIME", 0.0)
    storing._failing.clear()
    yield
    storing._failing.clear()


def cluster_id() -> int:
    return Cluster.objects.get().pk


def count(table: str, where: str = "true") -> int:
    with connect() as connection:
        query = f"SELECT count(*) FROM {table} WHERE cluster_id = %s AND {where}"
        return int(connection.execute(query, [cluster_id()]).fetchone()[0])


def marks() -> dict[str, tuple[int, str]]:
    """The number and the reason of the records that are reported as lost, by kind."""
    with connect() as connection:
        rows = connection.execute(
            """SELECT detail->>'kind', (detail->>'count')::int, detail->>'reason' FROM event
               WHERE kind = 'records-dropped' AND cluster_id = %s""",
            [cluster_id()],
        )
        return {kind: (count, reason) for kind, count, reason in rows.fetchall()}


@pytest.mark.usefixtures("new_connections")
@pytest.mark.parametrize("is_known", [False, True], ids=["new cluster", "known cluster"])
def test_an_agent_is_asked_to_come_back_while_the_database_is_read_only(
    agent: Agent, caplog: pytest.LogCaptureFixture, is_known: bool
) -> None:
    if is_known:
        assert agent.send({"span": [agent.span(0)]}) == 200
    IngestToken.objects.update(last_used=None)
    body = agent.body({"span": [agent.span(number) for number in range(1, 11)]}, is_last=True)
    with read_only_database():
        for _ in range(3):
            response = Client(raise_request_exception=False).post(
                "/api/v1/ingest",
                body,
                content_type="application/octet-stream",
                headers={"Authorization": f"Bearer {agent.secret}"},
            )
            assert (response.status_code, response["Retry-After"]) == (503, "2")
            assert (
                json.loads(response.content)["detail"] == "the database is unavailable: send the batch again"
            )
        assert "Traceback" not in caplog.text
    # the first request meets a session that began read-only
    statuses = [agent.post(body) for _ in range(3)]
    assert statuses[-2:] == [200, 200]
    assert agent.answer == {"sequence": agent.sequence, "refused": 0, "already": True}
    assert count("span") == 10 + is_known
    assert Cluster.objects.get().end_reason == "the scheduler closed"


def test_an_agent_comes_back_within_ten_seconds_of_recovery() -> None:
    retry_after = float(storing.RETRY_AFTER)
    assert 1.25 * max(sender.LONGEST_RETRY, retry_after) < 10


def test_one_bad_row_of_an_agents_batch_costs_one_row_and_the_batch_is_stored_once(agent: Agent) -> None:
    agent.send({})
    spans = [agent.span(number, after=number / 100) for number in range(300)]
    body = agent.body({"span": spans, "log": [make_line(agent)], "event": [make_event(agent)]})
    bad = f"NEW.start = to_timestamp({spans[123][4]})"
    with failing(cluster_id(), bad, "22003"):
        assert agent.post(body) == 200
        assert (agent.answer["refused"], agent.answer["already"]) == (1, False)
    assert agent.post(body) == 200
    assert agent.answer["already"]
    assert (count("span"), count("log"), count("event", "kind = 'worker-added'")) == (299, 1, 1)
    assert marks() == {"span": (1, "database-refused")}


@pytest.mark.parametrize("state", ["42501", "42P01", "40P01", "55P03", "53100", "53300", "57014"])
def test_an_agents_batch_that_the_database_cannot_store_now_is_sent_again(agent: Agent, state: str) -> None:
    agent.send({})
    body = agent.body({"span": [agent.span(1), agent.span(2)]})
    with failing(cluster_id(), "true", state):
        assert agent.post(body) == 503
    assert agent.post(body) == 200
    assert not agent.answer["already"]
    assert count("span") == 2
    assert marks() == {}


def test_an_agents_batch_that_only_fails_itself_does_not_block_its_agent_for_ever(
    agent: Agent, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    clock = [time.monotonic()]
    monkeypatch.setattr(patience, "monotonic", lambda: clock[0])
    agent.send({"worker": [(agent.since, WORKER, "w", "h", 2, 1e9, "running", "{}", "{}")]})
    reported = (agent.since + 1, agent.since + 2, "log", 7, "buffer-full")
    rows = {
        "span": [agent.span(number) for number in range(20)],
        "transition": [agent.transition(number) for number in range(30)],
        "sample": [make_sample(agent, 1.0)],
        "log": [make_line(agent)],
        "event": [make_event(agent)],
        "dropped": [reported],
    }
    body = agent.body(rows)
    with failing(cluster_id(), "true", "P0001", "transition"):
        for passed in (0, patience.PATIENCE - 1):
            clock[0] += passed
            assert agent.post(body) == 503
        clock[0] += 2
        assert agent.post(body) == 200, "it is in quarantine"
        assert agent.post(body) == 200
        assert agent.answer["already"]
        assert agent.send({"span": [agent.span(99)]}) == 200, "the next one is stored"
    [path] = files()
    assert (count("span"), count("transition")) == (1, 0)
    quarantined = {"span": 20, "transition": 30, "sample": 1, "log": 1, "event": 1}
    told = marks()
    assert told.pop("log") in ((7, "buffer-full"), (1, "quarantined")), "both are there"
    quarantined.pop("log")
    assert told == {kind: (lost, "quarantined") for kind, lost in quarantined.items()}
    assert count("event", "kind = 'records-dropped' AND detail->>'reason' = 'buffer-full'") == 1
    output = StringIO()
    call_command("quarantine", retry=True, stdout=output)
    assert "records stored" in output.getvalue()
    assert files() == []
    assert not path.exists()
    stored = {kind: count(kind) for kind in ("span", "transition", "sample", "log")}
    assert stored == {"span": 21, "transition": 30, "sample": 1, "log": 1}
    assert count("event", "kind = 'worker-added'") == 1
    assert count("event", "kind = 'records-dropped' AND detail->>'reason' = 'buffer-full'") == 1


def run(dask: Scheduler, tasks: int) -> None:
    with dask.client() as client:
        client.gather(client.map(lambda x: x + 1, range(tasks), pure=False))


@pytest.mark.usefixtures("store", "new_connections")
async def test_a_recording_across_two_outages_has_every_task_once() -> None:
    """Counted against the scheduler's own count."""
    with scheduler(workers=2) as dask:
        async with observed(dask.url) as watcher:
            await eventually(lambda: asyncio.sleep(0, watcher.subscriber.state == Target.Stream.RECEIVING))
            await asyncio.to_thread(run, dask, 100)
            with read_only_database():
                await asyncio.to_thread(run, dask, 225)
                await eventually(
                    lambda: asyncio.sleep(0, watcher.shared.counters.write_failures > 1), what="a failure"
                )
            await asyncio.to_thread(run, dask, 100)
            with read_only_database():
                await asyncio.to_thread(run, dask, 200)
            compute = "SELECT 1 FROM span WHERE action = 0 HAVING count(*) >= 625"
            await eventually(lambda: read(compute), what="storing")
            assert watcher.shared.counters.records_dropped == 0
    assert await read("SELECT count(*), count(DISTINCT key_rest) FROM span WHERE action = 0") == [(625, 625)]
    assert await read("SELECT tasks FROM extent WHERE spans > 0") == [(625,)]
    assert await read("SELECT count(*) FROM event WHERE kind = 'records-dropped'") == [(0,)]
