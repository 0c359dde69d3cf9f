"""What the processes of a window told of their machines and versions, and where they differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles.events import list_events
from observatory.replay.windows.environment import MOST_WORKERS, environment_of
from observatory.replay.windows.environment_schemas import Environment
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import MAXIMUM_TIME
from observatory.store.workers.tags import tags_of
from observatory.wire.records import Event, WorkerSeen
from tests.support.response_schemas import assert_documented


def seen(number: int, now: float, **detail: Any) -> WorkerSeen:
    told = {"python": "3.12.1", "versions": {"dask": "2026.8.0"}, **detail}
    return WorkerSeen(f"tcp://10.0.0.{number}:1", f"w{number}", "h", 2, 1024, now, detail=told)


@pytest.fixture
def different(cluster: Cluster, writer: Writer, now: float) -> Cluster:
    workers = [
        seen(1, now, surroundings={"SLURM_JOB_ID": "7"}),
        seen(2, now, versions={"dask": "2026.7.0"}),
        seen(3, now),
        seen(4, now + 90, python="3.11.0"),
    ]
    started = Event(now, "agent-started", "", {"message": "", "python": "3.12.1", "dask": "2026.8.0"})
    writer.write(Batch.of(cluster.pk, workers, events=[started], committed=now + 100))
    return cluster


def facts(connection: psycopg.Connection, scope: Scope, start: float, stop: float) -> dict[str, Any]:
    found = environment_of(connection, scope, round(start * 1e6), round(stop * 1e6))
    assert_documented(Environment, found)
    return {fact["name"]: fact for fact in found["facts"]}


def test_each_fact_has_its_values_with_their_workers_and_that_of_the_scheduler(
    different: Cluster, direct: psycopg.Connection, now: float
) -> None:
    ids = dict(direct.execute("SELECT name, id FROM worker WHERE cluster_id = %s", [different.pk]).fetchall())
    found = facts(direct, Scope(different), now, now + 50)
    dask = found["dask"]
    assert (dask["kind"], dask["differs"], dask["scheduler"]) == ("version", True, "2026.8.0")
    assert dask["values"] == [
        {"value": "2026.8.0", "count": 2, "workers": [ids["w1"], ids["w3"]]},
        {"value": "2026.7.0", "count": 1, "workers": [ids["w2"]]},
    ]
    assert found["SLURM_JOB_ID"]["differs"], "the other workers have none"
    assert not found["threads of a worker"]["differs"]
    assert not found["Python"]["differs"], "w4 was not there yet"
    assert facts(direct, Scope(different), now, now + 100)["Python"]["differs"]


def test_a_scheduler_with_another_version_differs(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    started = Event(now, "agent-started", "", {"message": "", "dask": "2025.1.0"})
    writer.write(Batch.of(cluster.pk, [seen(1, now)], events=[started], committed=now + 100))
    assert facts(direct, Scope(cluster), now, now + 50)["dask"]["differs"]


def test_a_worker_that_has_not_described_itself_does_not_differ(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    by_scheduler = {
        "host": {"python": "3.12.1.final.0"},
        "packages": {"dask": "2026.8.0", "python": "3.12.1.final.0"},
    }
    started = WorkerSeen("tcp://10.0.0.2:1", "w2", "h", 2, 1024, now, detail={"versions": by_scheduler})
    writer.write(
        Batch.of(
            cluster.pk,
            [seen(1, now, versions={"dask": "2026.8.0", "zict": "3.0"}), started],
            committed=now + 100,
        )
    )
    found = facts(direct, Scope(cluster), now, now + 50)
    assert not any(fact["differs"] for fact in found.values())
    assert {"host", "python"}.isdisjoint(found)


def test_what_the_scheduler_tells_of_versions_later_replaces_nothing_that_the_worker_told(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    by_scheduler = {"packages": {"dask": "2026.8.0", "lz4": None, "msgpack": "1.1"}}
    paused = WorkerSeen("tcp://10.0.0.1:1", "w1", "h", 2, 1024, now + 1, detail={"versions": by_scheduler})
    told = seen(1, now, versions={"lz4": "4.3", "zict": "3.0"})
    writer.write(Batch.of(cluster.pk, [told, paused], committed=now + 100))
    found = facts(direct, Scope(cluster), now, now + 50)
    versions = {name: fact["values"][0]["value"] for name, fact in found.items() if fact["kind"] == "version"}
    assert versions == {"Python": "3.12.1", "dask": "2026.8.0", "lz4": "4.3", "msgpack": "1.1", "zict": "3.0"}


def test_of_many_workers_the_first_are_named_and_all_are_counted(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    workers = [seen(number, now) for number in range(1, 81)]
    writer.write(Batch.of(cluster.pk, workers, committed=now + 100))
    [value] = facts(direct, Scope(cluster), 0, MAXIMUM_TIME / 1e6)["dask"]["values"]
    assert (value["count"], len(value["workers"])) == (80, MOST_WORKERS)


def test_a_public_link_tells_threads_and_memory_limits_alone(
    different: Cluster, direct: psycopg.Connection, now: float
) -> None:
    scope = Scope(different, round(now * 1e6), round((now + 50) * 1e6), is_public=True)
    assert set(facts(direct, scope, 0, 2 * now)) == {
        "threads of a worker",
        "memory limit of a worker (bytes)",
    }


RELEASE = {
    "name": "2026.11.2",
    "digest": "cb9e6124b06f7b02",
    "values": {"environment: A": "1", "worker: distributed.worker.memory.target": "0.6"},
}


def test_a_release_has_its_name_and_what_each_process_was_started_with(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    own = {"environment: A": "1", "scheduler: distributed.scheduler.work-stealing": "false"}
    started = Event(now, "agent-started", "", {"message": "", "release": {**RELEASE, "values": own}})
    workers = [seen(1, now, release=RELEASE), seen(2, now, release={**RELEASE, "name": "2026.11.1"})]
    writer.write(Batch.of(cluster.pk, workers, events=[started], committed=now + 100))
    found = facts(direct, Scope(cluster), now, now + 50)
    of_release = {name: fact for name, fact in found.items() if fact["kind"] == "release"}
    assert {
        name: (fact["scheduler"], [value["value"] for value in fact["values"]], fact["differs"])
        for name, fact in of_release.items()
    } == {
        "release": ("2026.11.2", ["2026.11.1", "2026.11.2"], True),
        "digest of the configuration": ("cb9e6124b06f7b02", ["cb9e6124b06f7b02"], False),
        "environment: A": ("1", ["1"], False),
        "scheduler: distributed.scheduler.work-stealing": ("false", [], False),
        "worker: distributed.worker.memory.target": (None, ["0.6"], False),
    }
    query = "SELECT resources, detail FROM worker WHERE cluster_id = %s ORDER BY name"
    rows = direct.execute(query, [cluster.pk]).fetchall()
    assert [tags_of(*row)["release"] for row in rows] == ["2026.11.2", "2026.11.1"]


@pytest.mark.parametrize("told", [None, [], "a", {}, {"values": []}, {"name": None, "values": None}])
def test_a_release_that_is_none_is_not_shown(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float, told: Any
) -> None:
    writer.write(Batch.of(cluster.pk, [seen(1, now, release=told)], committed=now + 100))
    found = facts(direct, Scope(cluster), now, now + 50)
    assert not [fact for fact in found.values() if fact["kind"] == "release"]


def test_a_public_link_tells_nothing_of_the_release(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    started = Event(now + 1, "agent-started", "", {"message": "it began", "release": RELEASE})
    workers = [seen(1, now, release=RELEASE)]
    writer.write(Batch.of(cluster.pk, workers, events=[started], committed=now + 100))
    window = round(now * 1e6), round((now + 50) * 1e6)
    scope = Scope(cluster, *window, is_public=True)
    assert "release" not in facts(direct, scope, now, now + 50)
    [event] = [each for each in list_events(direct, scope, *window, 100) if each["kind"] == "agent-started"]
    assert event["detail"] == {"message": "it began"}


def test_the_schedulers_and_the_clients_configuration_are_their_own_and_differences_are_told(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    stealing, size = "distributed.scheduler.work-stealing", "array.chunk-size"
    scheduler = {
        "configuration": {stealing: False, size: "128MiB"},
        "versions": {"dask": "2026.8.0"},
        "cpus": 2,
    }
    client = {"configuration": {size: "64MiB"}, "versions": {"dask": "2026.7.0"}, "cpus": 8}
    events = [
        Event(now, "agent-started", "", {"message": "", **scheduler}),
        Event(now + 1, "client-described", "", {"message": "", **client}),
    ]
    worker = seen(1, now, configuration={size: "128MiB"}, cpus=4)
    writer.write(Batch.of(cluster.pk, [worker], events=events, committed=now + 100))
    found = facts(direct, Scope(cluster), now, now + 50)
    assert (found[stealing]["scheduler"], found[stealing]["values"], found[stealing]["differs"]) == (
        "False",
        [],
        False,
    )
    assert (found[size]["scheduler"], found[size]["client"], found[size]["differs"]) == (
        "128MiB",
        "64MiB",
        True,
    )
    assert (found["dask"]["client"], found["dask"]["differs"]) == ("2026.7.0", True)
    cpus = found["CPUs seen"]
    assert (cpus["scheduler"], cpus["client"], cpus["differs"]) == ("2", None, False), "machines may differ"


def test_the_number_that_older_agents_told_for_no_limit_is_no_limit(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    worker = seen(1, now, container_memory_limit="9223372036854771712")
    writer.write(Batch.of(cluster.pk, [worker], committed=now + 100))
    assert "container's memory limit (bytes)" not in facts(direct, Scope(cluster), now, now + 50)


def test_a_link_does_not_tell_the_environment_of_scheduler_and_client(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    told = {"message": "it began", "executable": "/home/me/bin/python", "surroundings": {"SLURM_JOB_ID": "7"}}
    events = [Event(now + 1, kind, "", told) for kind in ("agent-started", "client-described")]
    writer.write(Batch.of(cluster.pk, [], events=events, committed=now + 100))
    scope = Scope(cluster, round(now * 1e6), round((now + 50) * 1e6), is_public=True)
    listed = list_events(direct, scope, round(now * 1e6), round((now + 50) * 1e6), 100)
    assert {event["kind"] for event in listed} == {"agent-started", "client-described"}
    assert "/home/me" not in str(listed)
    assert "SLURM" not in str(listed)


def test_the_client_of_a_run_is_the_one_that_opened_it(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    run, other = UUID(int=1), UUID(int=2)
    told = [
        (now, {"run": run.hex, "versions": {"dask": "2026.8.0"}}),
        (now + 1, {"run": other.hex, "versions": {"dask": "2026.7.0"}}),
    ]
    events = [Event(at, "client-described", "", detail) for at, detail in told]
    writer.write(Batch.of(cluster.pk, [seen(1, now)], events=events, committed=now + 100))
    scope = Scope(cluster, start=round(now * 1e6), opened_as=run)
    assert facts(direct, scope, now + 20, now + 50)["dask"]["client"] == "2026.8.0"
    assert facts(direct, replace(scope, opened_as=UUID(int=3)), now, now + 50)["dask"]["client"] is None
    assert facts(direct, Scope(cluster), now, now + 50)["dask"]["client"] == "2026.7.0", "the last one"
