"""Why tasks can't run, as an agent reports it."""

from __future__ import annotations

import json
from types import SimpleNamespace as Namespace
from typing import Any

from distributed import Client

from observatory.agent.scheduler.unrunnable import MOST_REASONS, OTHER, UnrunnableTasks
from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer


def increment(number: int) -> int:
    return number + 1


def test_tasks_that_no_worker_may_run_are_counted_by_the_reason(client: Client, received: FakeServer) -> None:
    def latest() -> dict[str, float]:
        found: dict[str, float] = {}
        for row in received.rows["sample"]:
            metric, labels, *_ = json.loads(row["series"])
            if metric == "observatory_cluster_unrunnable_tasks":
                found[labels["reason"]] = row["value"]
        return found

    stuck = client.map(increment, range(3), resources={"GPU": 1}, pure=False)
    elsewhere = client.submit(increment, 1, workers=["tcp://10.255.0.1:1"], pure=False)
    expected = {"no worker has the resource GPU": 3, "the workers or hosts that they name are not there": 1}
    eventually(lambda: latest() == expected)
    del stuck, elsewhere
    eventually(lambda: latest() == dict.fromkeys(expected, 0))


def scheduler_of(*tasks: dict[str, Any], resources: dict[str, dict[str, float]]) -> Any:
    restrictions = ("resource_restrictions", "worker_restrictions", "host_restrictions")
    made = [Namespace(**{**dict.fromkeys(restrictions), **task}) for task in tasks]
    return Namespace(workers={"w": None}, resources=resources, unrunnable=dict(enumerate(made)).values())


def test_too_little_of_a_resource_is_told_from_none() -> None:
    tasks = [{"resource_restrictions": {"GPU": 4}}, {"resource_restrictions": {"GPU": 1, "RAM": 1}}]
    scheduler = scheduler_of(*tasks, resources={"GPU": {"a": 2, "b": 1}, "RAM": {"c": 8}})
    expected = {"no worker has 4 of the resource GPU": 1, "no worker has all resources that they require": 1}
    assert UnrunnableTasks(scheduler).count() == expected
    scheduler.workers = {}
    assert UnrunnableTasks(scheduler).count() == {"there is no worker": 2}


def test_reasons_are_bounded_and_others_count_together() -> None:
    many = [{"resource_restrictions": {f"r{number}": 1}} for number in range(MOST_REASONS + 5)]
    tasks = UnrunnableTasks(scheduler_of(*many, resources={}))
    found = tasks.count()
    assert (len(found), found[OTHER], sum(found.values())) == (MOST_REASONS + 1, 5, MOST_REASONS + 5)
    tasks.scheduler.unrunnable = ()
    assert set(tasks.count().values()) == {0}
