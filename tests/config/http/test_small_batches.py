"""Small batches of agents that come together are stored together, and each is answered by itself."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.test import override_settings

from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import IngestRefusal, IngestToken
from observatory.collect.agents import storing
from observatory.config.http import small_batches
from observatory.config.http.body_limit import Receive, Send
from observatory.config.http.small_batches import PATH, SMALL, SmallBatches
from observatory.runtime.health.request_metrics import REQUESTS
from observatory.store.connection import connect
from observatory.store.places.shares import Shares
from tests.collect.agents import Agent, agent, count, project
from tests.support.outages import failing

__all__ = ["agent", "count", "project"]

WAIT = 120
"""seconds: longer than any answer takes"""
PASSED_ON = 418


async def below(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """The application that gets all other requests."""
    await send({"type": "http.response.start", "status": PASSED_ON, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> SmallBatches:
    """Its groups begin far apart: what comes meanwhile is one group."""
    monkeypatch.setattr(small_batches, "GATHERING", 0.5)
    return SmallBatches(below)


def sending(
    endpoint: SmallBatches, body: bytes, secret: str, encoding: str = "gzip", **changed: Any
) -> ApplicationCommunicator:
    sent = gzip.compress(body) if encoding == "gzip" else body
    headers = {
        "host": "localhost:8000",
        "authorization": f"Bearer {secret}",
        "content-length": str(len(sent)),
        "content-encoding": encoding,
        **changed.pop("headers", {}),
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
        "client": ("10.0.0.7", 1),
        **changed,
    }
    request = ApplicationCommunicator(endpoint, scope)
    request.input_queue.put_nowait({"type": "http.request", "body": sent, "more_body": False})
    return request


async def answer(request: ApplicationCommunicator) -> tuple[int, dict[str, Any], dict[bytes, bytes]]:
    start = await request.receive_output(WAIT)
    content = await request.receive_output(WAIT)
    return start["status"], json.loads(content["body"]), dict(start["headers"])


async def answers(requests: Sequence[ApplicationCommunicator]) -> list[tuple[int, dict[str, Any]]]:
    """Of requests that are sent at once."""
    return [found[:2] for found in await asyncio.gather(*map(answer, requests))]


@asynccontextmanager
async def gathered(endpoint: SmallBatches, agent: Agent) -> AsyncIterator[None]:
    """What is sent within the block is one group: it follows one of the same token."""
    other = Agent(agent.secret, "Scheduler-before")
    assert (await answer(sending(endpoint, other.body({}), agent.secret)))[0] == 200
    yield


def agents_of(agent: Agent, number: int) -> list[Agent]:
    return [Agent(agent.secret, f"Scheduler-{each}", since=agent.since) for each in range(number)]


def transactions() -> list[int]:
    """How many clusters of the project each transaction wrote last."""
    with connect() as connection:
        query = """SELECT count(*) FROM extent
                   JOIN clusters_cluster cluster ON cluster.id = cluster_id
                   JOIN clusters_project project ON project.id = project_id
                   WHERE slug = 'ingest' AND spans > 0 GROUP BY extent.xmin::text ORDER BY 1"""
        return [number for (number,) in connection.execute(query)]


async def test_batches_that_come_together_are_stored_by_one_transaction(
    endpoint: SmallBatches, agent: Agent, count: Any
) -> None:
    agents = agents_of(agent, 10)
    async with gathered(endpoint, agent):
        requests = [sending(endpoint, one.body({"span": [one.span(1)]}), one.secret) for one in agents]
        found = await answers(requests)
    assert found == [(200, {"sequence": 1, "refused": 0, "already": False})] * 10
    assert await asyncio.to_thread(count, "span") == 10
    assert await asyncio.to_thread(transactions) == [10]


async def test_batches_with_many_records_are_stored_by_several_transactions(
    endpoint: SmallBatches, agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read at a time has a limit, whatever small bodies unpack to."""
    monkeypatch.setattr(storing, "MOST_RECORDS", 10)
    agents = agents_of(agent, 5)
    async with gathered(endpoint, agent):
        bodies = [one.body({"span": [one.span(number) for number in range(6)]}) for one in agents]
        found = await answers([sending(endpoint, body, agent.secret) for body in bodies])
    assert [status for status, _ in found] == [200] * 5
    assert await asyncio.to_thread(count, "span") == 30
    assert await asyncio.to_thread(transactions) == [1, 2, 2]


async def test_a_batch_that_comes_twice_at_once_is_stored_once(
    endpoint: SmallBatches, agent: Agent, count: Any
) -> None:
    async with gathered(endpoint, agent):
        body = agent.body({"span": [agent.span(1)]})
        found = await answers([sending(endpoint, body, agent.secret) for _ in range(3)])
    assert sorted(content["already"] for _, content in found) == [False, True, True]
    assert await asyncio.to_thread(count, "span") == 1


async def test_what_is_wrong_with_one_batch_is_answered_to_its_agent_alone(
    endpoint: SmallBatches, agent: Agent, count: Any
) -> None:
    good, other, wrong, unknown = agents_of(agent, 4)
    async with gathered(endpoint, agent):
        found = await answers(
            [
                sending(endpoint, good.body({"span": [good.span(1)]}), agent.secret),
                sending(endpoint, b"no batch", agent.secret),
                sending(endpoint, wrong.body({}, sequence=-1), agent.secret),
                sending(endpoint, b"x", agent.secret, encoding="deflate"),
                sending(endpoint, unknown.body({}), agent.secret, encoding="br"),
                sending(endpoint, other.body({"span": [other.span(1)]}), agent.secret),
            ]
        )
    assert [status for status, _ in found] == [200, 422, 422, 400, 415, 200]
    assert all(content["detail"] for status, content in found if status != 200)
    assert await asyncio.to_thread(count, "span") == 2
    [refusal] = await asyncio.to_thread(lambda: list(IngestRefusal.objects.all()))
    assert (refusal.reason, refusal.address) == (IngestRefusal.Reason.BATCH, "10.0.0.7")


async def test_a_batch_that_the_database_cannot_store_now_is_sent_again_and_the_others_are_stored(
    endpoint: SmallBatches, agent: Agent, count: Any
) -> None:
    agents = agents_of(agent, 4)
    await answers([sending(endpoint, one.body({}), one.secret) for one in agents])
    cluster = await asyncio.to_thread(_cluster_of, agents[2])
    bodies = [one.body({"span": [one.span(1)]}) for one in agents]
    with failing(cluster, "true", "40P01"):
        async with gathered(endpoint, agent):
            found = await answers([sending(endpoint, body, agent.secret) for body in bodies])
    assert [status for status, _ in found] == [200, 200, 503, 200]
    assert await asyncio.to_thread(count, "span") == 3
    assert await answers([sending(endpoint, bodies[2], agent.secret)]) == [
        (200, {"sequence": 2, "refused": 0, "already": False})
    ]


def _cluster_of(agent: Agent) -> int:
    from observatory.clusters.models import Cluster

    return Cluster.objects.get(scheduler_id=agent.scheduler_id).pk


async def test_an_error_of_ours_for_one_batch_does_not_keep_the_others_from_being_stored(
    endpoint: SmallBatches, agent: Agent, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, broken, last = agents_of(agent, 3)
    batch_of = storing.batch_of

    def failing_for_one(cluster: int, head: Any, blocks: Any) -> Any:
        if head.scheduler_id == broken.scheduler_id:
            raise RuntimeError("a mistake of ours")
        return batch_of(cluster, head, blocks)

    monkeypatch.setattr(storing, "batch_of", failing_for_one)
    async with gathered(endpoint, agent):
        requests = [
            sending(endpoint, one.body({"span": [one.span(1)]}), one.secret) for one in (first, broken, last)
        ]
        found = await answers(requests)
    assert [status for status, _ in found] == [200, 500, 200]
    assert await asyncio.to_thread(count, "span") == 2


async def test_a_client_that_has_gone_takes_no_others_with_it(
    endpoint: SmallBatches, agent: Agent, count: Any
) -> None:
    agents = agents_of(agent, 3)
    async with gathered(endpoint, agent):
        requests = [sending(endpoint, one.body({"span": [one.span(1)]}), one.secret) for one in agents]
        gone = asyncio.create_task(answer(requests[1]))
        await asyncio.sleep(0.01)
        gone.cancel()
        requests[1].stop(exceptions=False)
        found = await answers([requests[0], requests[2]])
    assert [status for status, _ in found] == [200, 200]


async def test_unknown_and_revoked_tokens_are_refused_also_after_they_were_known(
    endpoint: SmallBatches, agent: Agent
) -> None:
    assert (await answers([sending(endpoint, agent.body({}), "obs_unknown")]))[0][0] == 401
    assert (await answers([sending(endpoint, agent.body({}), agent.secret)]))[0][0] == 200
    token = await IngestToken.objects.aget()
    await asyncio.to_thread(ingest_tokens.revoke, await Project.objects.aget(slug="ingest"), token.pk)
    [(status, content)] = await answers([sending(endpoint, agent.body({}), agent.secret)])
    assert (status, content["detail"]) == (
        401,
        "the ingest token is unknown or revoked: make one on the project's page",
    )
    reasons = await asyncio.to_thread(lambda: {each.reason for each in IngestRefusal.objects.all()})
    assert reasons == {IngestRefusal.Reason.UNKNOWN, IngestRefusal.Reason.REVOKED}


async def test_a_project_whose_share_is_in_use_is_answered_429(
    endpoint: SmallBatches, agent: Agent, project: Project, monkeypatch: pytest.MonkeyPatch, count: Any
) -> None:
    shares = Shares(4, 2, 0.2)
    monkeypatch.setattr(small_batches, "SHARES", shares)
    body = agent.body({"span": [agent.span(1)]})
    with shares.place(project.pk), shares.place(project.pk):
        status, content, headers = await answer(sending(endpoint, body, agent.secret))
    assert (status, headers[b"retry-after"]) == (429, b"2")
    assert content["detail"].startswith("the project's other batches take its share")
    assert (await answers([sending(endpoint, body, agent.secret)]))[0][0] == 200
    assert await asyncio.to_thread(count, "span") == 1


async def test_batches_that_wait_are_answered_also_if_a_mistake_of_ours_ends_their_group(
    endpoint: SmallBatches, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Shares):
        async def take_later(self, key: Any) -> None:
            raise RuntimeError("a mistake of ours")

    good = small_batches.SHARES
    monkeypatch.setattr(small_batches, "SHARES", Broken(4, 2, 0.2))
    bodies = [one.body({}) for one in agents_of(agent, 3)]
    requests = [sending(endpoint, body, agent.secret) for body in bodies]
    assert [status for status, _ in await answers(requests)] == [429] * 3
    monkeypatch.setattr(small_batches, "SHARES", good)
    assert (await answers([sending(endpoint, bodies[0], agent.secret)]))[0][0] == 200


async def test_more_batches_of_a_token_than_may_wait_are_answered_429(
    endpoint: SmallBatches, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_batches, "MOST_WAITING", 3)
    agents = agents_of(agent, 5)
    async with gathered(endpoint, agent):
        found = await answers([sending(endpoint, one.body({}), one.secret) for one in agents])
    assert sorted(status for status, _ in found) == [200, 200, 200, 429, 429]


@override_settings(PROJECT_INGEST_RATE=0.0001)
async def test_a_project_that_sends_more_than_it_may_is_answered_429(
    endpoint: SmallBatches, agent: Agent
) -> None:
    bodies = [agent.body({"span": [agent.span(1)]}) for _ in range(3)]
    found = await answers([sending(endpoint, body, agent.secret, encoding="") for body in bodies])
    assert 429 in {status for status, _ in found}


@pytest.mark.parametrize(
    "changed",
    [
        {"path": "/api/v1/ingest/prometheus"},
        {"method": "GET"},
        {"headers": {"authorization": "Basic YTpi"}},
        {"headers": {"authorization": ""}},
        {"headers": {"content-length": str(SMALL + 1)}},
        {"headers": {"content-length": ""}},
        {"headers": {"host": "attacker.example.org"}},
    ],
)
async def test_other_requests_are_passed_on(endpoint: SmallBatches, agent: Agent, changed: Any) -> None:
    request = sending(endpoint, agent.body({}), agent.secret, **changed)
    assert (await answer(request))[0] == PASSED_ON


async def test_requests_are_counted_as_those_of_pages_are(endpoint: SmallBatches, agent: Agent) -> None:
    stored = REQUESTS.labels("POST", PATH, "200")
    before = stored._value.get()
    await answer(sending(endpoint, agent.body({}), agent.secret))
    assert stored._value.get() == before + 1
