"""Prometheus' remote_write: clusters, workers and samples from labels; exactly once; within limits."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import cramjam
import psycopg
import pytest
from django.core.cache import cache
from django.test import Client

from observatory.clusters.end_reasons import PROMETHEUS_STOPPED
from observatory.clusters.models import Cluster, MetricHelp, Project
from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.collect.prometheus import messages_pb2, remote_write, series_of_labels
from observatory.collect.tasks import end_silent
from observatory.replay.tiles.levels import MINIMUM_LEVEL
from observatory.store.connection import connect
from observatory.store.ingest.source_limits import TooManyNew
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.blocks import decode
from tests.support.projects import HOSTILE, World, world
from tests.support.prometheus import PROTOBUF, STALE, WRITE, Samples, compressed, write_request

__all__ = ["world"]

NOW = 1_795_000_000.0
MARK = struct.unpack("<d", struct.pack("<Q", STALE))[0]
SCHEDULER = {"job": "dask", "cluster": "etl", "instance": "10.0.0.1:8787"}
WORKER = {"job": "dask-workers", "cluster": "etl", "instance": "10.0.0.2:4001", "pod": "worker-0"}


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    """The tests read all rows: those that others left go before and after each."""
    cache.clear()
    with connect() as connection:
        delete_all(connection)
        yield connection
        delete_all(connection)


def delete_all(connection: psycopg.Connection) -> None:
    tables = ("extent", "worker", "series")
    clusters = " UNION ".join(f"SELECT cluster_id FROM {table}" for table in tables)
    for (cluster,) in connection.execute(clusters).fetchall():
        delete_cluster(cluster)


@pytest.fixture
def project(connection: psycopg.Connection, world: World) -> Project:
    world.alpha.retention_days = 3650
    world.alpha.save()
    return world.alpha


@pytest.fixture
def secret(project: Project) -> str:
    return ingest_tokens.make(project, "prometheus", None)[1]


def send(secret: str, body: bytes, query: str = "?interval=15", **headers: str) -> Any:
    sent = {"Content-Encoding": "snappy", "Authorization": f"Bearer {secret}", **headers}
    content_type = sent.pop("Content-Type", PROTOBUF)
    return Client(enforce_csrf_checks=True).post(WRITE + query, body, content_type=content_type, headers=sent)


def store(secret: str, *series: Samples) -> None:
    answer = send(secret, write_request(*series))
    assert answer.status_code == 204, answer.content


def stored(connection: psycopg.Connection, metric: str) -> list[tuple[float, int, str]]:
    """Seconds after NOW, the bits of the value, and the worker's address, in order of time."""
    rows = connection.execute(
        """SELECT extract(epoch FROM time)::float8, value, coalesce(address, '')
           FROM sample JOIN series ON series.id = series_id LEFT JOIN worker ON worker.id = worker_id
           WHERE metric = %s ORDER BY time""",
        [metric],
        binary=True,
    )
    return [(round(at - NOW, 3), bits(value), address) for at, value, address in rows]


def bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def test_a_cluster_and_its_workers_are_found_by_their_labels(
    connection: psycopg.Connection, project: Project, secret: str
) -> None:
    tasks = {"__name__": "dask_scheduler_tasks", "state": "memory", **SCHEDULER}
    threads = {"__name__": "dask_worker_threads", **WORKER}
    memory = {"__name__": "dask_worker_memory_bytes", "type": "managed", **WORKER}
    store(secret, (tasks, [(NOW, 5.0)]), (memory, [(NOW + 0.125, 2e9)]), (threads, [(NOW + 0.125, 4.0)]))
    [cluster] = Cluster.objects.filter(project=project, name="etl")
    assert cluster.address == "10.0.0.1:8787"
    assert (cluster.started.timestamp(), cluster.last_seen.timestamp()) == (NOW, NOW + 0.125)
    assert (cluster.identity_interval, cluster.metrics_interval, cluster.ended) == (15, 15, None)
    workers = connection.execute("SELECT address, name, nthreads, ended FROM worker").fetchall()
    assert workers == [("10.0.0.2:4001", "worker-0", 4, None)]
    assert stored(connection, "dask_scheduler_tasks") == [(0, bits(5.0), "")]
    assert stored(connection, "dask_worker_memory_bytes") == [(0.125, bits(2e9), "10.0.0.2:4001")]


def test_charts_find_their_metrics(connection: psycopg.Connection, secret: str) -> None:
    store(
        secret,
        ({"__name__": "dask_scheduler_tasks", "state": "memory", **SCHEDULER}, [(NOW, 5.0)]),
        ({"__name__": "dask_worker_memory_bytes", "type": "managed", **WORKER}, [(NOW, 7.0)]),
    )
    rows = connection.execute(
        "SELECT metric, labels FROM series WHERE metric LIKE 'observatory%' ORDER BY metric"
    ).fetchall()
    assert rows == [
        ("observatory_cluster_tasks", {"state": "memory"}),
        ("observatory_worker_memory_bytes", {"type": "managed"}),
    ]


def test_a_cluster_of_prometheus_is_shown_and_replayed(
    connection: psycopg.Connection, secret: str, world: World
) -> None:
    threads = {"__name__": "dask_worker_threads", **WORKER}
    memory = {"__name__": "dask_worker_memory_bytes", "type": "managed", **WORKER}
    tasks = {"__name__": "dask_scheduler_tasks", "state": "memory", **SCHEDULER}
    times = [NOW + place * 15 for place in range(20)]
    store(
        secret,
        (threads, [(at, 4.0) for at in times]),
        (memory, [(at, at - NOW) for at in times]),
        (tasks, [(at, 7.0) for at in times]),
    )
    viewer = world.client("viewer")
    cluster = Cluster.objects.get(name="etl")
    for page in ("", "tasks/", "logs/", "errors/"):
        assert viewer.get(f"/clusters/{cluster.pk}/{page}").status_code == 200, page
    assert "etl" in viewer.get("/clusters/").content.decode()
    level = MINIMUM_LEVEL + 12
    for layer, last in (("memory", 285.0), ("states", 7.0)):
        found: list[float] = []
        for index in range(int(times[0] * 1e6) // (512 << level), int(times[-1] * 1e6) // (512 << level) + 1):
            answer = viewer.get(f"/api/v1/clusters/{cluster.pk}/tiles/{layer}/{level}/{index}")
            assert answer.status_code == 200, answer.content
            for block in decode(answer.content):
                found += block.list("last") if block.kind == "bin" else []
        assert max(found, default=0) == last, layer


def test_values_keep_their_bits_and_marks_end_workers(connection: psycopg.Connection, secret: str) -> None:
    threads = {"__name__": "dask_worker_threads", **WORKER}
    ticks = {"__name__": "dask_worker_tick_count_total", **WORKER}
    store(
        secret,
        (threads, [(NOW, 4.0), (NOW + 15, MARK)]),
        (ticks, [(NOW, 9.0), (NOW + 5, 2.0), (NOW + 10, math.nan), (NOW + 15, MARK)]),
    )
    address = "10.0.0.2:4001"
    found = [(0, bits(9.0), address), (5, bits(2.0), address), (10, bits(math.nan), address)]
    assert stored(connection, "dask_worker_tick_count_total") == [*found, (15, STALE, address)]
    [(ended,)] = connection.execute("SELECT extract(epoch FROM ended)::float8 FROM worker").fetchall()
    assert ended == NOW + 15
    store(secret, (threads, [(NOW + 30, 4.0)]))
    assert connection.execute("SELECT count(*) FROM worker").fetchone() == (2,)


def test_a_body_that_is_sent_again_is_stored_once(connection: psycopg.Connection, secret: str) -> None:
    clients = {"__name__": "dask_scheduler_clients", **SCHEDULER}
    body = write_request((clients, [(NOW, 1.0)]))
    assert [send(secret, body).status_code for _ in range(3)] == [204] * 3
    assert len(stored(connection, "dask_scheduler_clients")) == 1
    store(secret, (clients, [(NOW + 15, 1.0)]))
    assert len(stored(connection, "dask_scheduler_clients")) == 2


def test_a_body_that_could_not_be_stored_whole_is_stored_once(
    connection: psycopg.Connection, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a", "b", "c")
    clients = {"__name__": "dask_scheduler_clients", **SCHEDULER}
    body = write_request(*(({**clients, "cluster": name}, [(NOW, 1.0)]) for name in names))
    whole, calls = remote_write._store, []

    def fails_once(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise TooManyNew(1, "clusters", 1.0)
        whole(*arguments)

    monkeypatch.setattr(remote_write, "_store", fails_once)
    answer = send(secret, body)
    assert answer.status_code == 503, "Prometheus drops what is answered 429"
    assert answer["Retry-After"] == "5"
    assert send(secret, body).status_code == 204
    assert len(calls) == 4
    assert len(stored(connection, "dask_scheduler_clients")) == 3
    assert set(Cluster.objects.values_list("name", flat=True)) >= set(names)


def test_a_body_that_is_being_stored_is_not_stored_beside(
    connection: psycopg.Connection, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = write_request(({"__name__": "dask_scheduler_clients", **SCHEDULER}, [(NOW, 1.0)]))
    whole, answers = remote_write._store, []

    def meanwhile(*arguments: Any) -> None:
        answers.append(send(secret, body).status_code)
        whole(*arguments)

    monkeypatch.setattr(remote_write, "_store", meanwhile)
    answers.append(send(secret, body).status_code)
    assert answers == [503, 204]


def test_after_a_gap_another_cluster_begins(
    connection: psycopg.Connection, project: Project, secret: str
) -> None:
    clients = {"__name__": "dask_scheduler_clients", **SCHEDULER}
    store(secret, (clients, [(NOW, 1.0)]))
    Cluster.objects.filter(name="etl").update(
        agent_heard=Cluster.objects.get(name="etl").first_seen - timedelta(hours=1)
    )
    end_silent()
    [first] = Cluster.objects.filter(name="etl")
    assert first.ended is not None
    assert first.end_reason == PROMETHEUS_STOPPED
    store(secret, (clients, [(NOW + 60, 1.0)]))
    assert Cluster.objects.get(name="etl").ended is None, "a short silence is none"
    Cluster.objects.filter(name="etl").update(ended=first.ended + timedelta(seconds=60))
    store(secret, (clients, [(NOW + 1_000, 1.0)]))
    second = Cluster.objects.filter(name="etl").order_by("started").last()
    assert second is not None
    assert second.pk != first.pk
    store(secret, (clients, [(NOW + 30, 1.0)]))
    times = connection.execute(
        "SELECT DISTINCT extract(epoch FROM time)::float8 FROM sample WHERE cluster_id = %s", [first.pk]
    ).fetchall()
    assert sorted(times) == [(NOW,), (NOW + 30,), (NOW + 60,)], "late samples are of the cluster of then"


def test_only_samples_of_dask_begin_a_cluster_or_keep_it(
    connection: psycopg.Connection, project: Project, secret: str
) -> None:
    up = {"__name__": "up", **SCHEDULER}
    store(secret, (up, [(NOW, 0.0)]), ({"__name__": "dask_scheduler_clients"}, [(NOW, 1.0)]))
    assert not Cluster.objects.filter(name="etl").exists()
    assert stored(connection, "dask_scheduler_clients") == [], "no label names its cluster"
    store(secret, ({"__name__": "dask_scheduler_clients", **SCHEDULER}, [(NOW, 1.0)]))
    store(secret, (up, [(NOW + 15, 0.0)]))
    assert stored(connection, "up") == [(15, bits(0.0), "")]
    assert Cluster.objects.get(name="etl").last_seen.timestamp() == NOW


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"job": "dask"}, "dask"),
        ({"job": "dask", "cluster": "c"}, "c"),
        ({"job": "dask", "cluster": "c", "namespace": "n"}, "n/c"),
        ({"job": "dask", "cluster": "k8s", "dask_org_cluster_name": "d"}, "d"),
        ({"job": HOSTILE}, HOSTILE),
        ({"job": "x" * 300}, "x" * 100),
    ],
)
def test_the_first_label_that_names_a_cluster_counts(
    project: Project, secret: str, labels: dict[str, str], name: str
) -> None:
    before = set(Cluster.objects.values_list("pk", flat=True))
    store(secret, ({"__name__": "dask_scheduler_clients", **labels}, [(NOW, 1.0)]))
    [cluster] = Cluster.objects.exclude(pk__in=before)
    assert cluster.name == name
    assert cluster.project == project


def test_tokens_lead_to_their_own_project(project: Project, secret: str, world: World) -> None:
    other = ingest_tokens.make(world.beta, "prometheus", None)[1]
    body = write_request(({"__name__": "dask_scheduler_clients", **SCHEDULER}, [(NOW, 1.0)]))
    world.beta.retention_days = 3650
    world.beta.save()
    assert [send(each, body).status_code for each in (secret, other)] == [204, 204]
    assert sorted(Cluster.objects.filter(name="etl").values_list("project__slug", flat=True)) == [
        "alpha",
        "beta",
    ]
    reading = access_tokens.make(world.people["owner"], "reads", None)[1]
    for wrong in (reading, "obs_unknown", ""):
        assert send(wrong, body).status_code == 401


def bodies() -> Iterator[Any]:
    good = write_request(({"__name__": "dask_scheduler_clients", **SCHEDULER}, [(NOW, 1.0)]))
    many = [(NOW + number / 1e3, 1.0) for number in range(100_001)]
    named = {"__name__": "dask_scheduler_clients"}
    yield pytest.param(b"\xff" * 30, {}, 400, "isn't snappy", id="no snappy")
    yield pytest.param(
        bytes(cramjam.snappy.compress_raw(b"\xff" * 9)), {}, 400, "WriteRequest", id="no protobuf"
    )
    yield pytest.param(good, {"Content-Encoding": "zstd"}, 415, "isn't snappy", id="zstd")
    version = {"Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}
    yield pytest.param(good, version, 415, "version 1", id="version 2")
    yield pytest.param(write_request(({"job": "x"}, [(NOW, 1.0)])), {}, 400, "__name__", id="no name")
    wide = {**named, "job": "x", **{f"label_{number}": "x" for number in range(63)}}
    yield pytest.param(write_request((wide, [(NOW, 1.0)])), {}, 400, "at most 64 labels", id="labels")
    yield pytest.param(
        write_request(({**named, "job": "x" * 9_000}, [(NOW, 1.0)])), {}, 400, "8,192 bytes", id="long"
    )
    yield pytest.param(write_request(({**named, "job": "x"}, many)), {}, 413, "100,000 samples", id="samples")
    apart = [({**named, "job": f"{number}"}, [(NOW, 1.0)]) for number in range(101)]
    yield pytest.param(write_request(*apart), {}, 413, "at most 100 clusters", id="clusters")
    broken = messages_pb2.WriteRequest()
    broken.timeseries.add(labels=[b"\x0a\x02\xff\xfe"])
    yield pytest.param(
        bytes(cramjam.snappy.compress_raw(broken.SerializeToString())), {}, 400, "Label", id="no UTF-8"
    )


@pytest.mark.parametrize(("body", "headers", "status", "words"), list(bodies()))
def test_a_body_that_is_not_one_is_refused_and_named(
    project: Project, secret: str, body: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    clusters = Cluster.objects.count()
    answer = send(secret, body, **headers)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert Cluster.objects.count() == clusters


def test_texts_of_metrics_are_kept(project: Project, secret: str) -> None:
    request = messages_pb2.WriteRequest()
    for name, text in (
        ("dask_scheduler_clients", f"Clients.\n {HOSTILE}"),
        ("none", ""),
        ("\0", "x"),
        ("long", "x" * 999),
    ):
        request.metadata.add(metric_family_name=name, help=text)
    assert send(secret, compressed(request)).status_code == 204
    assert dict(MetricHelp.objects.values_list("name", "help")) == {
        "dask_scheduler_clients": f"Clients. {HOSTILE}",
        "long": "x" * 499 + "…",
    }


def test_times_and_values_of_any_kind_are_answered(connection: psycopg.Connection, secret: str) -> None:
    clients = {"__name__": "dask_scheduler_clients", **SCHEDULER}
    store(secret, (clients, [(NOW, 1.0)]))
    for at in (-(2.0**40), 0.0, 2.0**40, NOW + 1):
        assert send(secret, write_request((clients, [(at, 1e308), (at, -math.inf)]))).status_code in (
            204,
            400,
        )
    assert len(stored(connection, "dask_scheduler_clients")) >= 3


def test_a_cluster_has_a_limited_number_of_series(
    connection: psycopg.Connection, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_write, "SERIES", 10)
    other = [({"__name__": f"other_{number}", **SCHEDULER}, [(NOW, 1.0)]) for number in range(30)]
    store(secret, ({"__name__": "dask_scheduler_clients", **SCHEDULER}, [(NOW, 1.0)]), *other)
    assert connection.execute("SELECT count(*) FROM series WHERE metric LIKE 'other%%'").fetchone() == (10,)


def test_memory_of_labels_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_of_labels, "MOST_BYTES", 100_000)
    known = series_of_labels.KnownLabels()
    for number in range(1_000):
        labels = [messages_pb2.Label(name="__name__", value=f"m{number}").SerializeToString()]
        assert known.find(labels).series.metric == f"m{number}"
        assert len(known._known) < 100
