"""The workers of a run by a label, compared within the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.comparison import worker_groups
from observatory.comparison.compare_workers import compare_workers, labels_of_run
from observatory.comparison.run_summary import TooLarge
from observatory.comparison.schemas import WorkerLabel, WorkersComparison
from observatory.comparison.worker_groups import UnknownGroup
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.records import WorkerSeen
from tests.comparison.made_runs import GIB, START
from tests.comparison.made_workers import Worker, make_run, version
from tests.support.projects import World
from tests.support.response_schemas import assert_documented


@pytest.fixture
def cluster(transactional_db: None, world: World) -> Iterator[Cluster]:
    yield world.ended
    delete_cluster(world.ended.pk)


def figure(found: dict[str, Any], name: str) -> tuple[float | None, float | None]:
    [wanted] = [each for each in found["figures"] if each["name"] == name]
    return wanted["a"], wanted["b"]


def test_a_prefix_that_is_slower_on_the_workers_of_a_version_is_named(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    run = make_run(cluster, [version("b", factor=1.3), version("a"), version("b", factor=1.3), version("a")])
    found = compare_workers(connection, run, "version", "b", "a")
    assert found["prefixes"][0]["name"] == "clean"
    assert found["prefixes"][0]["verdict"] == "slower"
    assert found["prefixes"][0]["ratio"] == pytest.approx(1.3, rel=0.05)
    assert {each["name"]: each["verdict"] for each in found["prefixes"][1:]} == {"load": "", "store": ""}
    swapped = compare_workers(connection, run, "version", "a", "b")
    assert (swapped["prefixes"][0]["name"], swapped["prefixes"][0]["verdict"]) == ("clean", "faster")


def test_one_worker_of_a_new_version_is_told_apart_from_many_of_the_old_one(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    run = make_run(cluster, [version("new", factor=1.3), *(version("old") for _ in range(19))])
    found = compare_workers(connection, run, "version", "new", "old")
    assert (found["a"]["workers"], found["b"]["workers"]) == (1, 19)
    assert (found["prefixes"][0]["name"], found["prefixes"][0]["verdict"]) == ("clean", "slower")


def test_figures_are_per_thread_and_worker_where_totals_would_tell_only_the_size_of_the_groups(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    workers = [version("a", memory=2 * GIB, cpu=150), *(version("b", memory=GIB, cpu=50) for _ in range(3))]
    found = compare_workers(connection, make_run(cluster, workers), "version", "a", "b")
    assert figure(found, "Workers") == (1, 3)
    assert figure(found, "Threads") == (2, 6)
    assert figure(found, "Time of all threads") == (pytest.approx(120), pytest.approx(360))
    one, other = figure(found, "Tasks of a thread in a minute")
    assert one == pytest.approx(300, rel=0.05)
    assert other == pytest.approx(one, rel=0.05)
    assert figure(found, "Computing, of the threads' time")[0] == pytest.approx(1, abs=0.05)
    assert figure(found, "Memory of a worker, mean") == (2 * GIB, GIB)
    assert figure(found, "Memory, of the limits") == (0.5, 0.25)
    assert figure(found, "CPU, of a core for each thread") == (0.75, 0.25)
    assert figure(found, "Waiting for the GIL") == (None, None)
    assert figure(found, "Errors") == (None, None), "without an agent nobody told where a task failed"
    a, b = found["memory"]["lines"]
    assert (a[10], b[10]) == (2 * GIB, GIB)


def test_what_else_differs_between_the_groups_is_told(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    large = Worker(labels={"version": "b", "zone": "x"}, detail={"machine": ["m5.xlarge"]})
    found = compare_workers(
        connection,
        make_run(cluster, [large, Worker(labels={"version": "a", "zone": "x"})]),
        "version",
        "b",
        "a",
    )
    differ = {(each["kind"], each["name"]): (each["a"], each["b"]) for each in found["differ"]}
    assert differ == {("label", "version"): ("b", "a"), ("hardware", "machine"): ("m5.xlarge", "m5.large")}
    assert ("label", "zone") in {(each["kind"], each["name"]) for each in found["same"]}


def test_resources_releases_and_hosts_are_labels_and_workers_without_one_are_unknown(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    workers = [
        Worker(resources={"GPU": 1.0}),
        Worker(resources={"GPU": 1}),
        Worker(detail={"release": {"name": "7"}}),
    ]
    run = make_run(cluster, workers)
    labels = labels_of_run(connection, run)
    for label in labels:
        assert_documented(WorkerLabel, label)
    values = {
        label["name"]: [(each["value"], each["workers"]) for each in label["values"]] for label in labels
    }
    assert values["resource GPU"] == [("1", 2), ("unknown", 1)]
    assert values["release"] == [("unknown", 2), ("7", 1)]
    assert len(values["host"]) == 3
    assert [label["name"] for label in labels] == ["release", "resource GPU", "host", "Python", "machine"]
    assert [label["differs"] for label in labels] == [True, True, True, False, False]
    found = compare_workers(connection, run, "resource GPU", "1", "unknown")
    assert (found["a"]["workers"], found["b"]["workers"]) == (2, 1)


@pytest.mark.parametrize(
    ("label", "a", "b", "message"),
    [
        ("zone", "x", "y", "No worker of this run has 'x' as 'zone': its values are 'unknown'."),
        ("version", "c", "a", "No worker of this run has 'c' as 'version': its values are 'a', 'b'."),
        ("version", "a", "a", "Both groups are the workers whose 'version' is 'a': choose two values."),
    ],
)
def test_groups_that_are_none_are_named(
    cluster: Cluster, connection: psycopg.Connection, label: str, a: str, b: str, message: str
) -> None:
    run = make_run(cluster, [version("a"), version("b")], seconds=3)
    with pytest.raises(UnknownGroup, match="^" + message.replace(".", r"\.") + "$"):
        compare_workers(connection, run, label, a, b)


def test_workers_outside_of_the_run_and_their_work_are_left_out(
    cluster: Cluster, connection: psycopg.Connection
) -> None:
    run = make_run(cluster, [version("a"), version("b")])
    with Writer() as writer:
        late = WorkerSeen(
            "tcp://10.9.9.9:1", "late", "h", 2, GIB, START + 1000, detail={"labels": {"version": "c"}}
        )
        writer.write(Batch.of(cluster.pk, [late], committed=START + 1001))
    [label] = [each for each in labels_of_run(connection, run) if each["name"] == "version"]
    assert [each["value"] for each in label["values"]] == ["a", "b"]
    run.stop = from_seconds(START + 30)
    half = compare_workers(connection, run, "version", "a", "b")
    assert figure(half, "Time of all threads") == (pytest.approx(60), pytest.approx(60))
    assert figure(half, "Tasks")[0] == pytest.approx(300, rel=0.05)


def test_a_group_that_is_too_large_is_refused(
    cluster: Cluster, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_groups, "MOST_TASKS", 10)
    run = make_run(cluster, [version("a"), version("b")], seconds=10)
    with pytest.raises(TooLarge, match=r"workers with 'a' ran .* tasks; at most 10"):
        compare_workers(connection, run, "version", "a", "b")


def test_the_api_compares_lists_labels_and_says_what_is_wrong(cluster: Cluster, world: World) -> None:
    run = make_run(cluster, [version("a"), version("b")], seconds=10)
    path = f"/api/v1/runs/{run.pk}/compare-workers"
    answer = world.client("viewer").get(path, {"label": "version", "a": "b", "b": "a"})
    assert answer.status_code == 200
    assert_documented(WorkersComparison, answer.json())
    labels = world.client("viewer").get(f"/api/v1/runs/{run.pk}/worker-labels").json()
    assert labels[0]["name"] == "version"
    wrong = world.client("viewer").get(path, {"label": "version", "a": "x<b>" + "y" * 290, "b": "a"})
    assert wrong.status_code == 422
    assert "as 'version'" in wrong.json()["detail"]
    assert world.client("viewer").get(path, {"label": "version", "a": "b"}).status_code == 422
    assert world.client("viewer").get(path, {"label": "l" * 301, "a": "b", "b": "a"}).status_code == 422
    for role in ("outsider", "nobody"):
        assert world.client(role).get(path, {"label": "version", "a": "b", "b": "a"}).status_code == 404
        assert world.client(role).get(f"/api/v1/runs/{run.pk}/worker-labels").status_code == 404
