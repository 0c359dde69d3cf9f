"""What is told of two runs, and of one beside several."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.test import Client

from observatory.comparison import run_summary
from observatory.comparison.compare import compare
from observatory.comparison.run_selection import earlier_runs
from observatory.comparison.schemas import Comparison
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Event
from tests.comparison.made_runs import DETAIL, GIB, START, make_run
from tests.support.projects import World
from tests.support.response_schemas import assert_documented

USUAL = {"load": 0.2, "clean": 0.3, "store": 0.1}


@pytest.fixture(autouse=True)
def nothing_is_left(transactional_db: None, world: World) -> Iterator[None]:
    yield
    for cluster in (world.ended, world.elsewhere):
        delete_cluster(cluster.pk)


def figure(found: dict[str, Any], name: str) -> dict[str, Any]:
    [wanted] = [each for each in found["figures"] if each["name"] == name]
    return wanted


def test_figures_stand_beside_each_other(world: World, connection: psycopg.Connection) -> None:
    a = make_run(world.ended, 100, {"load": 0.2}, memory=2)
    b = make_run(world.ended, 0, {"load": 0.1}, memory=1)
    found = compare(connection, a, [b])
    assert figure(found, "Duration")["ratio"] == pytest.approx(2, rel=0.02)
    computed = figure(found, "Computing, all threads")
    assert (computed["a"], computed["b"]) == (pytest.approx(12, rel=0.02), pytest.approx(6, rel=0.02))
    assert computed["difference"] == pytest.approx(6, rel=0.05)
    assert figure(found, "Tasks") | {"name": ""} == {
        "name": "", "unit": "count", "a": 60, "b": 60, "difference": 0, "ratio": 1.0,
    }  # fmt: skip
    assert figure(found, "Threads")["a"] == 2
    assert figure(found, "Idle share of the threads' time")["a"] == pytest.approx(0, abs=0.05)
    assert figure(found, "Errors")["ratio"] is None
    assert figure(found, "Peak memory")["b"] == pytest.approx(GIB, rel=0.2)


def test_prefixes_come_with_their_distributions_and_those_of_one_run_alone_are_told(
    world: World, connection: psycopg.Connection
) -> None:
    a = make_run(world.ended, 100, {"load": 0.2, "new": 0.4})
    b = make_run(world.ended, 0, {"load": 0.2, "old": 0.1})
    found = {each["name"]: each for each in compare(connection, a, [b])["prefixes"]}
    assert {name: each["verdict"] for name, each in found.items()} == {
        "load": "", "new": "only in a", "old": "only in b",
    }  # fmt: skip
    assert found["new"]["b"] is None
    load = found["load"]["a"]
    assert (load["count"], load["nbytes"]) == (60, 60_000)
    assert load["seconds"] == pytest.approx(12, rel=0.02)
    assert load["quantiles"] == [pytest.approx(0.2, rel=0.02)] * 5
    assert sum(count for _, count in load["histogram"]) == 60
    assert load["shortest"] <= load["quantiles"][0] <= load["quantiles"][-1] <= load["longest"]
    assert load["longest"] == pytest.approx(0.2, rel=0.02)


def test_memory_is_told_on_one_axis_from_the_starts_on(world: World, connection: psycopg.Connection) -> None:
    long = make_run(world.ended, 100, {"load": 0.4}, memory=2)
    short = make_run(world.ended, 0, {"load": 0.1}, memory=1)
    memory = compare(connection, long, [short])["memory"]
    first, second = memory["lines"]
    assert len(first) == pytest.approx(12 / memory["width"], abs=1)
    assert len(second) == pytest.approx(3 / memory["width"], abs=1)
    assert first[0] == pytest.approx(1 * GIB)
    # what was told last holds until the next
    assert None not in first
    assert first == sorted(first)


def test_what_differs_around_the_runs_is_told_and_what_does_not_is_apart(
    world: World, connection: psycopg.Connection
) -> None:
    changed = {
        **DETAIL,
        "machine": ["m5.xlarge"],
        "versions": {"dask": "2026.9.0", "numpy": "2.4.6"},
        "configuration": {"distributed.worker.memory.target": 0.7},
    }
    a = make_run(world.ended, 100, USUAL, tags={"git": "9c81d0", "data": "small"}, detail=changed)
    b = make_run(world.ended, 0, USUAL, tags={"git": "3f2a1c", "data": "small"})
    found = compare(connection, a, [b])
    assert [(each["kind"], each["name"], each["a"], each["b"]) for each in found["differ"]] == [
        ("tag", "git", "9c81d0", "3f2a1c"),
        ("hardware", "machine", "m5.xlarge", "m5.large"),
        ("version", "dask", "2026.9.0", "2026.8.0"),
        ("configuration", "distributed.worker.memory.target", "0.7", "0.6"),
    ]
    assert ("tag", "data") in [(each["kind"], each["name"]) for each in found["same"]]


def test_keys_of_the_releases_configurations_that_differ_are_told(
    world: World, connection: psycopg.Connection
) -> None:
    def release(name: str, **values: str) -> dict[str, Any]:
        return {"name": name, "digest": "same", "values": {"environment: A": "1", **values}}

    target, stealing = (
        "worker: distributed.worker.memory.target",
        "scheduler: distributed.scheduler.work-stealing",
    )
    runs = []
    for at, name, value, steals in ((100, "2026.11.2", "0.7", "false"), (0, "2026.11.1", "0.6", "true")):
        told = release(name, **{target: value})
        runs.append(make_run(world.ended, at, USUAL, detail={**DETAIL, "release": told}))
        started = Event(START + at, "agent-started", "", {"release": release(name, **{stealing: steals})})
        with Writer() as writer:
            writer.write(Batch.of(world.ended.pk, events=[started]))
    found = compare(connection, runs[0], [runs[1]])
    assert [(each["kind"], each["name"], each["a"], each["b"]) for each in found["differ"]] == [
        ("release", "release", "2026.11.2", "2026.11.1"),
        ("release", stealing, "false", "true"),
        ("release", target, "0.7", "0.6"),
    ]
    same = [each["name"] for each in found["same"] if each["kind"] == "release"]
    assert same == ["digest of the configuration", "environment: A"]


def test_a_scheduler_of_another_release_than_its_workers_is_told(
    world: World, connection: psycopg.Connection
) -> None:
    release = {"name": "2026.11.1", "digest": "a", "values": {}}
    b = make_run(world.ended, 0, USUAL, detail={**DETAIL, "release": release})
    a = make_run(world.ended, 100, USUAL, detail={**DETAIL, "release": release})
    started = Event(START + 90, "agent-started", "", {"release": {**release, "name": "2026.11.2"}})
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, events=[started]))
    [differs] = compare(connection, a, [b])["differ"]
    assert (differs["a"], differs["b"]) == ("scheduler: 2026.11.2; workers: 2026.11.1", "2026.11.1")


def test_configurations_of_schedulers_and_clients_are_compared(
    world: World, connection: psycopg.Connection
) -> None:
    stealing, size = "distributed.scheduler.work-stealing", "array.chunk-size"
    b = make_run(world.ended, 0, USUAL)
    events = [
        Event(START + 90, "agent-started", "", {"configuration": {stealing: False, size: "128MiB"}}),
        Event(START + 100, "client-described", "", {"configuration": {size: "64MiB"}, "cpus": 64}),
    ]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, events=events))
    a = make_run(world.ended, 100, USUAL)
    found = {each["name"]: each for each in compare(connection, a, [b])["differ"]}
    assert found.keys() == {stealing, size}
    assert (found[stealing]["a"], found[stealing]["b"]) == ("False", "")
    assert found[size]["a"] == "client: 64MiB; scheduler: 128MiB"


def test_the_client_of_a_run_from_code_is_the_one_that_opened_it(
    world: World, connection: psycopg.Connection
) -> None:
    a, b = make_run(world.ended, 100, USUAL), make_run(world.ended, 0, USUAL)
    size, opened = "array.chunk-size", ((100, a, "64MiB"), (0, b, "128MiB"))
    events = []
    for number, (at, run, value) in enumerate(opened, 1):
        run.code_id = UUID(int=number)
        told = {"run": run.code_id.hex, "configuration": {size: value}}
        other = {"run": UUID(int=9).hex, "configuration": {size: "1GiB"}}
        events += [Event(START + at, "client-described", "", told)]
        events += [Event(START + at + 0.1, "client-described", "", other)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, events=events))
    [differs] = compare(connection, a, [b])["differ"]
    assert (differs["name"], differs["a"], differs["b"]) == (size, "64MiB", "128MiB")


def test_a_run_beside_the_median_of_those_before_it(world: World, connection: psycopg.Connection) -> None:
    earlier = [make_run(world.ended, 100 * at, USUAL) for at in range(4)]
    odd = make_run(world.ended, 500, {**USUAL, "load": 1.0})
    slower = make_run(world.ended, 700, {**USUAL, "store": 0.13})
    others = earlier_runs(world.people["viewer"], slower, 5)
    assert [run.pk for run in others] == [odd.pk, *(run.pk for run in reversed(earlier))]
    found = compare(connection, slower, others)
    assert [each["verdict"] for each in found["prefixes"]] == ["slower", "", ""]
    assert found["prefixes"][0]["name"] == "store"
    assert figure(found, "Duration")["b"] == pytest.approx(18, rel=0.05)


def test_earlier_runs_are_finished_ones_of_the_same_name_and_project(world: World) -> None:
    run = make_run(world.ended, 900, USUAL)
    kept = make_run(world.ended, 0, USUAL)
    make_run(world.elsewhere, 100, USUAL)
    make_run(world.ended, 200, USUAL, name="another")
    make_run(world.ended, 1100, USUAL)
    for at, change in ((300, {"outcome": Run.Outcome.ERRED}), (400, {"stop": None})):
        Run.objects.filter(pk=make_run(world.ended, at, USUAL).pk).update(**change)
    assert earlier_runs(world.people["viewer"], run, 20) == [kept]
    assert earlier_runs(world.people["superuser"], run, 20) == [kept]
    assert earlier_runs(world.people["outsider"], run, 20) == []


def test_the_api_answers_the_same_and_names_what_is_wrong_with_a_question(
    world: World, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = make_run(world.ended, 100, USUAL), make_run(world.ended, 0, USUAL)
    client: Client = world.client("viewer")
    url = "/api/v1/runs/compare"
    answer = client.get(f"{url}?a={a.pk}&b={b.pk}").json()
    assert_documented(Comparison, answer)
    assert [each["name"] for each in answer["prefixes"]] == [
        each["name"] for each in compare(connection, a, [b])["prefixes"]
    ]
    assert client.get(f"{url}?a={a.pk}&last=3").json()["b"][0]["id"] == b.pk
    for query, status in {
        f"a={a.pk}": 422,
        f"a={a.pk}&b={b.pk}&last=1": 422,
        f"a={a.pk}&last=21": 422,
        "a=0&b=1": 422,
        f"a={a.pk}&b=999999": 404,
        f"a={b.pk}&last=3": 404,
    }.items():
        refused = client.get(f"{url}?{query}")
        assert refused.status_code == status, query
        assert refused.json()["detail"]
    monkeypatch.setattr(run_summary, "MOST_TASKS", 100)
    refused = client.get(f"{url}?a={a.pk}&b={b.pk}")
    assert refused.status_code == 422
    assert "180 tasks" in refused.json()["detail"]


def test_a_run_that_goes_on_and_one_without_records_are_compared_too(
    world: World, connection: psycopg.Connection
) -> None:
    goes_on = make_run(world.ended, 0, USUAL)
    length = goes_on.stop - goes_on.start  # type: ignore[operator]
    Run.objects.filter(pk=goes_on.pk).update(stop=None)
    goes_on.refresh_from_db()
    empty = Run.objects.create(
        cluster=world.elsewhere,
        name="empty",
        origin=Run.Origin.CUT,
        start=goes_on.start - timedelta(days=1),
        stop=goes_on.start - timedelta(days=1, seconds=-5),
    )
    found = compare(connection, goes_on, [empty])
    assert figure(found, "Duration")["a"] == pytest.approx(length.total_seconds(), rel=0.05)
    assert {each["verdict"] for each in found["prefixes"]} == {"only in a"}
    assert found["memory"]["lines"][1] == [None] * len(found["memory"]["lines"][1])
    assert compare(connection, empty, [empty])["prefixes"] == []
