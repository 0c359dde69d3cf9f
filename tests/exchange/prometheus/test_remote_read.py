"""Prometheus' remote_read: which series with which labels and samples it gets, and what it may not have."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import cramjam
import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.collect.prometheus import messages_pb2
from observatory.exchange.prometheus import reading, selection
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import MetricType, Sample, Series, WorkerGone, WorkerSeen
from tests.exchange.everything import START, STOP, write_everything
from tests.support.projects import HOSTILE, World
from tests.support.prometheus import HEADERS, PROTOBUF, READ, STALE, Read, compressed, post, query, results_of

WORKER = "tcp://10.0.0.1:4000"
TASKS = "dask_scheduler_tasks"
LONG = {"start": START - 1000, "stop": STOP + 1000}


@pytest.fixture
def cluster(connection: psycopg.Connection, world: World) -> Cluster:
    """Alpha's, which goes on."""
    return world.live


def store(cluster: Cluster, samples: list[Sample], **others: Any) -> None:
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, others.get("workers", []), [], samples, [], others.get("gone", [])))


def read(world: World, *matchers: tuple[str, str, str], role: str = "viewer", **times: float) -> Read:
    return results_of(post(world.client(role), query(*matchers, **(LONG | times))))[0]


def bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def test_samples_have_dasks_names_and_labels_and_those_of_their_cluster(
    cluster: Cluster, world: World
) -> None:
    series = Series(TASKS, (("state", HOSTILE), ("task_prefix_name", "größe\n")))
    of_worker = Series("dask_worker_threads", (), WORKER)
    store(
        cluster,
        [Sample(series, START, 0.0), Sample(series, START + 15.2509, 2.5), Sample(of_worker, START, 4.0)],
        workers=[WorkerSeen(WORKER, "w0", "10.0.0.1", 4, 0, START - 9)],
    )
    whose = (("cluster", "Scheduler-1"), ("cluster_name", "morning"))
    milliseconds = round(START * 1e3)
    assert read(world, ("__name__", "=~", "dask_.*")) == {
        (
            ("__name__", TASKS),
            *whose,
            ("instance", "tcp://10.0.0.1:8786"),
            ("project", "alpha"),
            ("state", HOSTILE),
            ("task_prefix_name", "größe\n"),
        ): [(milliseconds, 0.0), (milliseconds + 15_250, 2.5)],
        (
            ("__name__", "dask_worker_threads"),
            *whose,
            ("instance", WORKER),
            ("project", "alpha"),
            ("worker_name", "w0"),
        ): [(milliseconds, 4.0)],
    }


def test_labels_that_are_ours_or_no_labels_of_prometheus_are_renamed(cluster: Cluster, world: World) -> None:
    own = (("cluster", "x"), ("project", "beta"), ("1st-one", "y"), ("empty", ""))
    store(cluster, [Sample(Series(TASKS, own), START, 1.0), Sample(Series("a metric"), START, 1.0)])
    [labels] = map(dict, read(world, ("__name__", "=~", ".*a.*")))
    assert labels["project"] == "alpha"
    assert labels["exported_project"] == "beta"
    assert labels["exported_cluster"] == "x"
    assert labels["_1st_one"] == "y"
    assert "empty" not in labels


@pytest.mark.parametrize(
    ("matchers", "states"),
    [
        ([("state", "=", "memory")], ["memory"]),
        ([("state", "!=", "memory")], ["", "erred"]),
        ([("state", "=~", "mem|err")], []),
        ([("state", "=~", "mem.*|erred")], ["erred", "memory"]),
        ([("state", "!~", ".+")], [""]),
        ([("state", "=", "")], [""]),
        ([("state", "!=", ""), ("state", "!~", "m.*")], ["erred"]),
        ([("nowhere", "=~", ".*")], ["", "erred", "memory"]),
        ([("nowhere", "=~", ".+")], []),
        ([("project", "=~", "alpha|beta"), ("cluster", "=", "Scheduler-1")], ["", "erred", "memory"]),
        ([("project", "=", "beta")], []),
        ([("cluster_name", "!~", "morn.+")], []),
    ],
)
def test_matchers_mean_what_they_mean_to_prometheus(
    cluster: Cluster, world: World, matchers: list[tuple[str, str, str]], states: list[str]
) -> None:
    found = [Series(TASKS, (("state", state),)) for state in ("memory", "erred")]
    store(cluster, [Sample(series, START, 1.0) for series in (*found, Series(TASKS))])
    assert sorted(dict(labels).get("state", "") for labels in read(world, *matchers)) == states


def test_each_person_reads_the_clusters_that_they_may_see(cluster: Cluster, world: World) -> None:
    for each in (cluster, world.elsewhere):
        store(each, [Sample(Series(TASKS), START, 1.0)])
    for role, projects in (
        ("viewer", {"alpha"}),
        ("outsider", {"beta"}),
        ("superuser", {"alpha", "beta"}),
        ("nobody", set()),
    ):
        found = read(world, ("__name__", "=", TASKS), ("project", "=~", ".*"), role=role)
        assert {dict(labels)["project"] for labels in found} == projects, role
    asked = query(("__name__", "=", TASKS), **LONG)
    assert post(Client(), asked).status_code == 401
    secret = access_tokens.make(world.people["viewer"], "prometheus", None)[1]
    assert len(results_of(post(Client(enforce_csrf_checks=True), asked, secret=secret))[0]) == 1
    _, ingest = ingest_tokens.make(world.alpha, "agents", None)
    assert post(Client(), asked, secret=ingest).status_code == 401


def test_a_series_ends_with_a_mark_where_its_worker_or_cluster_does(cluster: Cluster, world: World) -> None:
    memory = Series("dask_worker_memory_bytes", (), WORKER)
    scheduler = Series(TASKS)
    store(
        cluster,
        [Sample(memory, START, 1.0), Sample(scheduler, START + 50, 3.0)],
        workers=[WorkerSeen(WORKER, "w0", "10.0.0.1", 4, 0, START - 9)],
        gone=[WorkerGone(WORKER, START + 20, "lost")],
    )
    # another lifetime of the same address, whose counts begin again
    store(
        cluster,
        [Sample(memory, START + 40, 0.5)],
        workers=[WorkerSeen(WORKER, "w0", "10.0.0.1", 4, 0, START + 30)],
    )
    cluster.ended = from_seconds(START + 60)
    cluster.save()
    found = {dict(labels)["__name__"]: samples for labels, samples in read(world).items()}
    begin = round(START * 1e3)
    assert [time - begin for time, _ in found[memory.metric]] == [0, 20_001, 40_000, 60_001]
    assert [bits(value) for _, value in found[memory.metric]] == [bits(1.0), STALE, bits(0.5), STALE]
    assert [(time - begin, bits(value)) for time, value in found[TASKS]] == [
        (50_000, bits(3.0)),
        (60_001, STALE),
    ]
    [samples] = read(world, ("__name__", "=", TASKS), stop=START + 55).values()
    assert len(samples) == 1, "the end is not in the range"


def test_what_a_dead_workers_nanny_reports_is_before_the_mark(cluster: Cluster, world: World) -> None:
    memory = Series("dask_worker_memory_bytes", (), WORKER)
    seen = WorkerSeen(WORKER, "w0", "10.0.0.1", 4, 0, START - 9)
    store(
        cluster, [Sample(memory, START, 1.0)], workers=[seen], gone=[WorkerGone(WORKER, START + 20, "lost")]
    )
    store(cluster, [Sample(memory, START + 21, 2.0)])
    [samples] = read(world).values()
    assert [bits(value) for _, value in samples] == [bits(1.0), bits(2.0), STALE]


def test_values_are_the_same_to_the_last_bit_and_counters_keep_their_resets(
    cluster: Cluster, world: World
) -> None:
    values = [0.1, -0.0, math.inf, -math.inf, math.nan, 1e300, 5e-324, 0.0]
    series = Series("dask_scheduler_ticks_total", (), "", MetricType.COUNTER)
    store(cluster, [Sample(series, START + place, value) for place, value in enumerate(values)])
    [samples] = read(world).values()
    assert [bits(value) for _, value in samples] == list(map(bits, values))


def test_a_run_is_a_label_where_a_query_asks_for_it(cluster: Cluster, world: World) -> None:
    world.run.delete()
    store(cluster, [Sample(Series(TASKS), START + place, float(place)) for place in range(10)])
    runs = [
        Run.objects.create(
            cluster=cluster,
            name="run",
            origin="cut",
            start=from_seconds(START + first),
            stop=from_seconds(START + last),
        )
        for first, last in ((1, 3), (2, 5))
    ]
    assert [dict(labels).get("run") for labels in read(world, ("run", "=~", ".*"))] == [None]
    found = read(world, ("__name__", "=", TASKS), ("run", "!=", ""))
    values = {
        dict(labels)["run"]: [value for _, value in samples if bits(value) != STALE]
        for labels, samples in found.items()
    }
    assert values == {str(runs[0].pk): [1.0, 2.0, 3.0], str(runs[1].pk): [2.0, 3.0, 4.0, 5.0]}
    assert all(bits(samples[-1][1]) == STALE for samples in found.values()), "it is over after its run"
    [samples] = read(world, ("run", "=", str(runs[0].pk))).values()
    assert len(samples) == 4
    assert read(world, ("run", "=", "0")) == {}


def test_a_query_for_series_gets_their_labels_alone(cluster: Cluster, world: World) -> None:
    store(cluster, [Sample(Series(TASKS), START, 1.0)])
    [result] = results_of(post(world.client("viewer"), query(func="series", **LONG)))
    assert list(result.values()) == [[]]


def test_several_queries_are_answered_in_their_order(cluster: Cluster, world: World) -> None:
    store(cluster, [Sample(Series(f"dask_{name}"), START, 1.0) for name in "abc"])
    queries = [query(("__name__", "=", f"dask_{name}"), **LONG) for name in ("b", "none", "c", "a")]
    found = results_of(post(world.client("viewer"), *queries))
    assert [[dict(labels)["__name__"] for labels in one] for one in found] == [
        ["dask_b"],
        [],
        ["dask_c"],
        ["dask_a"],
    ]


def test_every_kind_of_cluster_and_time_is_answered(connection: psycopg.Connection, world: World) -> None:
    write_everything(world.ended.pk)
    assert len(read(world)) == 2
    for start, stop in ((STOP, START), (-(2**62) / 1e3, 2**62 / 1e3), (0, 0), (5e9, 6e9)):
        assert isinstance(read(world, start=start, stop=stop), dict)


@pytest.fixture
def many(cluster: Cluster) -> Cluster:
    series = [Series(TASKS, (("state", str(number)),)) for number in range(7)]
    store(cluster, [Sample(one, START + at, float(at)) for at in range(20) for one in series])
    return cluster


def test_an_answer_is_the_same_in_any_number_of_pieces(
    many: Cluster, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(world)
    assert len(whole) == 7
    assert all(len(samples) == 20 for samples in whole.values())
    monkeypatch.setattr(reading, "SERIES_AT_ONCE", 3)
    assert read(world) == whole
    for most in (7, 25, 100):
        monkeypatch.setattr(reading, "MOST_AT_ONCE", most)
        assert read(world) == whole


@pytest.mark.parametrize(
    ("module", "limit", "value", "words"),
    [
        (selection, "MOST_SERIES", 6, "more than 6 series: name a metric"),
        (selection, "MOST_CLUSTERS", 0, "more than 0 clusters: name a project"),
        (reading, "MOST_SAMPLES", 139, "more than 139 samples: name a metric"),
        (reading, "MOST_AT_ONCE", 6, "more than 6 samples in a millisecond"),
        (reading, "LONGEST", -1.0, "longer than -1 s"),
    ],
)
def test_a_query_that_selects_too_much_is_told_what_to_do(
    many: Cluster,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    limit: str,
    value: float,
    words: str,
) -> None:
    monkeypatch.setattr(module, limit, value)
    answer = post(world.client("viewer"), query(**LONG))
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def bodies() -> Iterator[tuple[str, bytes, dict[str, str], int, str]]:
    good = compressed(messages_pb2.ReadRequest(queries=[query(**LONG)]))
    huge = bytes([0x80, 0x80, 0x80, 0x80, 0x08]) + b"\x00" * 10
    yield "no snappy", b"\xff" * 30, {}, 400, "isn't snappy"
    yield "cut off", good[:-3], {}, 400, "isn't snappy"
    yield "no protobuf", bytes(cramjam.snappy.compress_raw(b"\xff" * 30)), {}, 400, "ReadRequest of protobuf"
    yield (
        "no UTF-8",
        bytes(cramjam.snappy.compress_raw(b"\x0a\x06\x1a\x04\x12\x02\xff\xfe")),
        {},
        400,
        "of protobuf",
    )
    yield "a bomb", huge, {}, 413, "unpacks to more than 1 MiB"
    yield "large", b"\x00" * (2**20 + 1), {}, 413, "more than 1 MiB"
    yield "gzip", good, {"Content-Encoding": "gzip"}, 415, "isn't snappy"
    yield "JSON", good, {"Content-Type": "application/json"}, 415, "isn't application/x-protobuf"


@pytest.mark.parametrize(
    ("body", "headers", "status", "words"), [pytest.param(*rest, id=name) for name, *rest in bodies()]
)
def test_a_body_that_is_not_one_is_refused_and_named(
    world: World, body: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    content_type = headers.get("Content-Type", PROTOBUF)
    answer = world.client("viewer").post(READ, body, content_type=content_type, headers=HEADERS | headers)
    assert answer.status_code == status
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        (("state", "=~", "(" * 3), "isn't a valid regular expression"),
        (("state", "=~", "x" * 20_001), "at most 20,000 characters"),
        (("state", "=~", "a)|(b"), "isn't a valid regular expression"),
    ],
)
def test_a_wrong_expression_is_named(cluster: Cluster, world: World, matcher: Any, words: str) -> None:
    answer = post(world.client("viewer"), query(matcher, **LONG))
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_an_unknown_kind_of_matcher_is_refused(world: World) -> None:
    asked = query(("state", "=", "x"), **LONG)
    asked.matchers[0].type = 7  # type: ignore[assignment]
    answer = post(world.client("viewer"), asked)
    assert answer.status_code == 422
    assert "unknown type 7" in answer.json()["detail"]
