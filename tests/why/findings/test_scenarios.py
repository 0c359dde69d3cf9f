"""Some of the scenarios, as the agents of real clusters recorded them; benchmarks/why.py runs all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import dask
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

import observatory.agent
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.maintenance.retention import delete_cluster
from tests.agent.fake_server import TOKEN, fake_server
from tests.support.agent_batches import store_batches
from tests.support.projects import World, world
from tests.why.findings.simulated import found_in
from tests.why.scenarios import seeded, waiting
from tests.why.scenarios.healthy import equal_futures
from tests.why.scenarios.scenario import SEEDED, Work
from tests.why.scenarios.tasks import AsIfTheyComputed

__all__ = ["world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

Findings = list[dict[str, Any]]
Record = Callable[[Work], Findings]


def bodies_of(
    name: str, work: Callable[[DaskClient], None], options: Mapping[str, Any], is_computing: bool = True
) -> list[bytes]:
    """The batches of the agent of a cluster that did the work, which may fail."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        fake_server() as received,
        LocalCluster(
            **{"n_workers": 2, "threads_per_worker": 2, "silence_logs": "CRITICAL", **options},
            dashboard_address="127.0.0.1:0",
        ) as cluster,
    ):
        with DaskClient(cluster) as client:
            observatory.agent.register(client, url=received.url, token=TOKEN, name=name, flush_interval="1s")
            if is_computing:
                client.register_plugin(AsIfTheyComputed())
            with contextlib.suppress(Exception):
                work(client)
        cluster.close()
        return list(received.bodies)


def findings_of(
    world: World,
    name: str,
    work: Callable[[DaskClient], None],
    options: Mapping[str, Any],
    is_computing: bool = True,
) -> Findings:
    _, secret = ingest_tokens.make(world.alpha, "tests", None)
    store_batches(bodies_of(name, work, options, is_computing), secret)
    with read_connection() as connection:
        return found_in(connection, Scope(Cluster.objects.get(name=name)))


@pytest.fixture
def record(world: World) -> Iterator[Record]:
    """Runs a scenario with its cause and returns its findings."""
    names = []

    def run(work: Work) -> Findings:
        names.append(work.__name__)
        scenario = SEEDED[work.__name__]
        with_cause = partial(work, has_cause=True)
        return findings_of(world, scenario.name, with_cause, scenario.options, scenario.is_computing)

    yield run
    _delete(names)


def _delete(names: list[str]) -> None:
    for cluster in Cluster.objects.filter(name__in=names):
        delete_cluster(cluster.pk)


def test_a_task_that_sleeps_for_eight_seconds_is_the_straggler(record: Record) -> None:
    finding = record(seeded.one_slow_task)[0]
    assert finding["kind"] == "stragglers"
    # it begins when the others are nearly done, and is as long as 16 of them
    assert finding["wall_seconds"] == pytest.approx(7.5, rel=0.3)


def test_a_worker_that_was_killed_is_named(record: Record) -> None:
    finding = record(seeded.killed_worker)[0]
    assert finding["kind"] == "worker-died"
    # two tasks were lost after three seconds, and eight results
    assert finding["thread_seconds"] == pytest.approx(2 * 3 + 8 * 0.5, rel=0.5)


def test_a_task_that_kills_its_workers_is_guilty(record: Record) -> None:
    finding = record(seeded.task_that_kills_each_worker)[0]
    assert finding["kind"] == "failure"
    assert "failed with KilledWorker: guilty-1 was on 2 workers that died" in finding["sentence"]


def test_thousands_of_tiny_tasks_are_too_small(record: Record) -> None:
    assert record(seeded.thousands_of_short_tasks)[0]["kind"] == "small-tasks"


def of_kind(found: Findings, kind: str) -> dict[str, Any]:
    """The finding of a kind, wherever it is: a loaded machine adds causes of its own."""
    [finding] = [one for one in found if one["kind"] == kind]
    return finding


def test_calls_that_raised_reschedule_are_told_with_what_they_took(record: Record) -> None:
    finding = of_kind(record(seeded.calls_that_lose_their_patience), "retries")
    assert finding["sentence"].startswith("9 calls of refuse_first raised Reschedule, after 1.")
    facts = {fact["label"]: fact["value"] for fact in finding["facts"]}
    assert (facts["tasks that were sent again"], facts["most calls of one task"]) == ("9", "1")
    # each tried for 1.5 s
    assert float(facts["these calls took"].removesuffix(" s")) == pytest.approx(9 * 1.5, rel=0.3)


def test_a_slow_service_is_what_tasks_wait_for(record: Record) -> None:
    finding = of_kind(record(waiting.requests_of_a_slow_service), "waiting-outside")
    assert "they waited for the network or a pipe" in finding["sentence"]
    assert "readinto" in str(finding["facts"])


def test_a_lock_of_a_process_is_what_tasks_wait_for(record: Record) -> None:
    finding = of_kind(record(waiting.lock_of_a_process), "serialized")
    # of four threads one has it
    assert finding["thread_seconds"] > 10
    assert "write_locked" in finding["sentence"]


def test_a_resource_for_one_task_at_once_is_what_tasks_wait_for(record: Record) -> None:
    finding = of_kind(record(waiting.resource_for_one_task_at_once), "serialized")
    assert "Tasks waited for a resource (database) of" in finding["sentence"]
    # half of the threads are idle for as long as the tasks of the others take
    assert finding["thread_seconds"] > 8


def test_tasks_of_equal_length_have_no_finding(world: World) -> None:
    try:
        found = findings_of(world, "healthy", equal_futures, {})
    finally:
        _delete(["healthy"])
    assert [one["sentence"] for one in found] == []
