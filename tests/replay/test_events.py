"""Events that repeat are one: a loop that submits tasks one by one makes thousands."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Event, WorkerSeen

WORKER = "tcp://10.0.0.1:1"
SEEN = [WorkerSeen(WORKER, "a", "10.0.0.1", 2, 1000, 0.0)]


def submitted(time: float, client: str = "Client-1", tasks: Any = 1) -> Event:
    return Event(time, "graph-updated", "", {"message": "submitted", "client": client, "tasks": tasks})


def logged(time: float, message: str) -> Event:
    return Event(time, "topic", "", {"message": message})


def status(time: float, message: str) -> Event:
    return Event(time, "worker-status", WORKER, {"message": message})


@pytest.fixture
def grouped(member: Client, cluster: Cluster, writer: Writer, now: float) -> Any:
    """Store events, with times from now on, and return what the API answers of those that repeat."""

    def group(*events: Event, **query: Any) -> list[dict[str, Any]]:
        later = [Event(now + event.time, event.kind, event.worker, event.detail) for event in events]
        writer.write(Batch.of(cluster.pk, SEEN, events=later, committed=now + 100))
        address = f"/api/v1/clusters/{cluster.pk}/events"
        found: list[dict[str, Any]] = member.get(address, {"grouped": "true", **query}).json()
        kinds = {event.kind for event in events}
        return [each for each in found if each["kind"] in kinds]

    return group


def test_tasks_submitted_one_by_one_are_one_event_that_leaves_room_for_the_others(
    grouped: Any, now: float
) -> None:
    many = [submitted(number / 100, f"Client-{number % 2}", tasks=2) for number in range(3000)]
    first, last = grouped(*many, logged(40, "over"), limit=5)[:2]
    assert first["message"] == "3,000 graphs with 6,000 tasks submitted by 2 clients"
    assert (first["count"], first["detail"]["client"]) == (3000, "Client-0")
    assert first["until"] - first["time"] == pytest.approx(29.99)
    assert (last["message"], last["count"], last["until"]) == ("over", 1, last["time"])


def test_what_is_logged_between_submissions_does_not_divide_them_and_a_paused_worker_does(
    grouped: Any,
) -> None:
    found = grouped(
        *(submitted(0), logged(1, "a"), submitted(2), logged(3, "a"), submitted(4)),
        *(status(5, "paused"), status(6, "paused"), submitted(7), status(8, "paused")),
    )
    assert [each["message"] for each in found] == [
        "3 graphs with 3 tasks submitted",
        "2× a",
        "2× paused",
        "submitted",
        "paused",
    ]


def test_numbers_of_tasks_that_are_none_are_not_added_up(grouped: Any) -> None:
    [found] = grouped(submitted(0, tasks="<b>"), submitted(1, tasks=-5), submitted(2, tasks=1e300))
    assert found["message"] == "3 graphs with 1,000,000,000 tasks submitted"


def test_without_grouping_each_event_is_its_own(
    grouped: Any, member: Client, cluster: Cluster, now: float
) -> None:
    grouped(submitted(0), submitted(1))
    found = member.get(f"/api/v1/clusters/{cluster.pk}/events").json()
    assert [each["count"] for each in found if each["kind"] == "graph-updated"] == [1, 1]
