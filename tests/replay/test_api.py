"""The API of the timeline: tiles, states, spans, and who has access to them."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from random import Random
from typing import Any

import django.db
import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay import api
from observatory.replay.cluster_info import lanes
from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import BASE_LEVEL, Tile, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import MINIMUM_LEVEL, TileId
from observatory.store.connection import MAXIMUM_BUILDERS, build_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.keyframes import make_keyframes
from observatory.store.queries.extents import read_extent
from observatory.store.times import MAXIMUM_TIME, from_seconds, seconds_to_microseconds
from observatory.wire.blocks import Block, decode
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerGone, WorkerSeen
from tests.replay.conftest import LEVEL

A, B = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"


def _span(key: str, start: float, stop: float, worker: str = A, action: Action = Action.COMPUTE) -> Span:
    prefix = key.split("-")[0]
    return Span(worker, 1, key, prefix, prefix, action, start, stop, 28, "int")


def _fill(writer: Writer, cluster: Cluster, now: float) -> None:
    memory = Series("observatory_worker_memory_bytes", (("type", "process"),), A)
    waiting = Series(
        "dask_scheduler_prefix_state_totals_total", (("state", "waiting"), ("task_prefix_name", "inc"))
    )
    writer.write(
        Batch.of(
            cluster.pk,
            workers=[
                WorkerSeen(A, "a", "127.0.0.1", 2, 1000, now),
                WorkerSeen(B, "b", "127.0.0.1", 2, 0, now),
            ],
            spans=[
                _span("inc-1", now + 1, now + 1.25),
                _span("inc-2", now + 2, now + 12),
                _span("inc-2", now + 1.5, now + 2, action=Action.TRANSFER),
                _span("sum-<img src=x onerror=alert(1)>", now + 3, now + 8, B),
            ],
            samples=[
                *(Sample(memory, now + second, 100.0 + second) for second in range(10)),
                Sample(waiting, now + 2, 7.0),
            ],
            events=[Event(now + 4, "worker-lost", B, {"message": "gone"})],
            committed=now + 20,
        )
    )


def _tile_url(cluster: Cluster, layer: str, at: float, version: int | None = None) -> str:
    index = int(at * 1e6) // (512 << LEVEL)
    query = "" if version is None else f"?version={version}"
    return f"/api/v1/clusters/{cluster.pk}/tiles/{layer}/{LEVEL}/{index}{query}"


def _blocks(client: Client, url: str) -> dict[str, Block]:
    response = client.get(url)
    assert response.status_code == 200, response.content
    return {block.kind: block for block in decode(response.content)}


def test_a_spans_tile_has_long_spans_and_bins_of_short_ones(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    blocks = _blocks(member, _tile_url(cluster, "spans", now + 5))
    assert blocks["span"].list("key") == ["inc-2", "sum-<img src=x onerror=alert(1)>"]
    assert blocks["span"].list("start") == [now + 2, now + 3]
    assert sum(blocks["busy"].list("seconds")) == pytest.approx(0.75)
    assert sum(blocks["busy"].list("count")) == 2
    assert blocks["extent"].meta["sequence"] == 1


def test_a_series_tile_has_the_statistics_of_each_series(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "memory", now + 5))["bin"]
    assert sum(block.list("count")) == 10
    assert block.list("last")[-1] == 109.0


def test_an_event_tile_has_the_events(member: Client, cluster: Cluster, writer: Writer, now: float) -> None:
    _fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "events", now + 5))["event"]
    assert (block.list("kind"), block.list("message")) == (["worker-lost"], ["gone"])


def _cached_tiles(connection: psycopg.Connection, cluster: Cluster) -> int:
    query = "SELECT count(*) FROM tile WHERE cluster_id = %s AND level = %s"
    [count] = connection.execute(query, [cluster.pk, LEVEL]).fetchone() or (0,)
    return int(count)


def test_an_open_tile_is_revalidated_and_a_closed_one_is_immutable(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5, version=1)
    assert member.get(url)["Cache-Control"] == "private, no-cache"
    writer.write(Batch.of(cluster.pk, committed=time.time() + 3600))
    assert "immutable" in member.get(url)["Cache-Control"]
    assert "immutable" not in member.get(_tile_url(cluster, "spans", now + 5, version=7))["Cache-Control"]


def test_a_closed_tile_is_built_once_and_answered_304_for_its_etag(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    _fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5, version=1)
    member.get(url)
    assert _cached_tiles(direct, cluster) == 0
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    closed = member.get(url)
    assert _cached_tiles(direct, cluster) == 1
    direct.execute("DELETE FROM span WHERE cluster_id = %s", [cluster.pk])
    writer.write(Batch.of(cluster.pk, committed=now + 1600))
    again = member.get(url, headers={"If-None-Match": closed["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "immutable" in again["Cache-Control"]
    assert member.get(url).content == closed.content


def test_while_tiles_are_built_cached_tiles_and_states_are_answered_and_no_other_connection_is_held(
    member: Client, cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    cached = _tile_url(cluster, "spans", now + 5, version=1)
    expected = member.get(cached).content
    with ExitStack() as stack:
        for _ in range(MAXIMUM_BUILDERS):
            stack.enter_context(build_connection())
        assert member.get(cached).content == expected
        assert member.get(f"/api/v1/clusters/{cluster.pk}/state?at={now + 5}").status_code == 200

    def build(*what: Any) -> Tile:
        assert django.db.connection.connection is None
        return get_tile(*what)

    monkeypatch.setattr(api, "get_tile", build)
    assert member.get(_tile_url(cluster, "prefixes", now + 5)).status_code == 200


def test_a_keyframe_of_an_outdated_count_is_not_stored(
    cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    outdated = read_extent(direct, cluster.pk)
    writer.write(Batch.of(cluster.pk, spans=[_span("inc-9", now + 3, now + 4)]))
    current = read_extent(direct, cluster.pk)
    assert outdated is not None
    assert current is not None
    until = seconds_to_microseconds(now + 100)
    assert make_keyframes(direct, outdated, until) == 0
    assert make_keyframes(direct, current, until) > 0
    tasks = "SELECT tasks FROM keyframe WHERE cluster_id = %s ORDER BY time DESC LIMIT 1"
    assert sum((direct.execute(tasks, [cluster.pk]).fetchone() or ([],))[0]) == 4


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "ended"])
def test_nothing_is_stored_for_tiles_and_bands_that_do_not_exist(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection, is_live: bool
) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1_000_000))
    if not is_live:
        Cluster.objects.update(ended=from_seconds(now + 20))
    for layer in ("spans", "prefixes", "events", "profile", "memory"):
        for at in (1.0, now - 5_000, now + 5_000, MAXIMUM_TIME / 1e6 - 1):
            assert member.get(_tile_url(cluster, layer, at)).status_code == 200
    for layer in ("spans.1", "memory.7", "memory.999999", "memory.all"):
        assert member.get(_tile_url(cluster, layer, now + 5)).status_code == 200
    start = seconds_to_microseconds(now)
    window = Scope(cluster, start, start + 3_000_000, is_public=True)
    for level in range(MINIMUM_LEVEL, BASE_LEVEL):
        first, last = TileId.at(level, window.start).index, TileId.at(level, window.stop).index
        for index in (first - 1, last + 1):
            get_tile(direct, window, Layer("spans"), TileId(level, index))
    assert direct.execute("SELECT count(*) FROM tile WHERE cluster_id = %s", [cluster.pk]).fetchone() == (0,)


def test_a_tile_is_gzipped_if_the_client_accepts_it(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5)
    plain = member.get(url)
    compressed = member.get(url, headers={"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain
    assert compressed["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert {"Accept-Encoding", "Cookie"} <= set(compressed["Vary"].split(", "))


def test_records_stored_after_the_end_of_a_cluster_are_in_its_last_tiles(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    _fill(writer, cluster, now)
    Cluster.objects.update(ended=from_seconds(now + 20))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    before = member.get(url)
    assert "immutable" not in before["Cache-Control"]
    assert member.get(url, headers={"If-None-Match": before["ETag"]}).status_code == 304
    assert _cached_tiles(direct, cluster) == 1
    writer.write(Batch.of(cluster.pk, spans=[_span("inc-3", now + 13, now + 19)]))
    assert "inc-3" in _blocks(member, url)["span"].list("key")


def test_a_cluster_that_resumes_after_its_end_has_complete_closed_tiles(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    Cluster.objects.update(ended=from_seconds(now + 20))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    _blocks(member, url)
    Cluster.objects.update(ended=None)
    writer.write(Batch.of(cluster.pk, spans=[_span("inc-3", now + 30, now + 40)], committed=now + 45))
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    assert "inc-3" in _blocks(member, url)["span"].list("key")
    assert "immutable" in member.get(url)["Cache-Control"]


def test_a_late_span_increments_the_version(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=time.time() + 3600))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    before = _blocks(member, url)["span"].rows
    writer.write(Batch.of(cluster.pk, spans=[_span("inc-3", now + 1, now + 30, B)]))
    assert _blocks(member, url)["span"].rows == before + 1
    assert "immutable" not in member.get(url)["Cache-Control"]
    assert "immutable" in member.get(_tile_url(cluster, "spans", now + 5, version=2))["Cache-Control"]


def test_the_state_counts_what_happened_until_its_time(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)

    def done(at: float) -> dict[str, int]:
        return {row["name"]: row["done"] for row in _at(member, cluster, at)["progress"]}

    assert done(now + 1.2) == {}
    assert done(now + 1.25) == {"inc": 1}
    assert done(now + 8) == {"inc": 1, "sum": 1}
    assert done(now + 12) == {"inc": 2, "sum": 1}
    state = _at(member, cluster, now + 5.5)
    [inc] = [row for row in state["progress"] if row["name"] == "inc"]
    assert inc["total"] == 7
    a, b = state["workers"]
    assert (a["memory"], a["running"], a["limit"]) == (105.0, 1, 1000)
    assert (b["memory"], b["running"]) == (None, 1)


def test_progress_after_a_gap_is_what_the_scheduler_counted_without_scattered_data(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)

    def entered(prefix: str, state: str) -> Series:
        labels = (("state", state), ("task_prefix_name", prefix))
        return Series("dask_scheduler_prefix_state_totals_total", labels)

    counted = [
        ("inc", "waiting", 5_000),
        ("inc", "memory", 3_100),
        ("inc", "erred", 140),
        ("ndarray", "memory", 9),
    ]
    samples = [Sample(entered(prefix, state), now + 14, count) for prefix, state, count in counted]
    gap = {"first": now + 13, "last": now + 14}
    events = [Event(now + 13, "not-observed", "", gap)]
    writer.write(Batch.of(cluster.pk, samples=samples, events=events, committed=now + 20))

    def inc(at: float) -> tuple[int, int, int]:
        [row] = [row for row in _at(member, cluster, at)["progress"] if row["name"] == "inc"]
        return row["done"], row["total"], row["erred"]

    assert inc(now + 13) == (2, 7, 0)
    assert inc(now + 15) == (3_100, 5_000, 140)
    assert {row["name"] for row in _at(member, cluster, now + 15)["progress"]} == {"inc", "sum"}


def _at(client: Client, cluster: Cluster, at: float) -> Any:
    return client.get(f"/api/v1/clusters/{cluster.pk}/state?at={at}").json()


def test_the_state_at_any_time_equals_a_count_of_the_records(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    random = Random(2)
    actions = (Action.COMPUTE, Action.COMPUTE, Action.TRANSFER)
    spans = []
    for number in range(300):
        start = now + random.randrange(20_000) / 1000
        stop = start + random.randrange(4_000) / 1000
        key = f"{random.choice(('inc', 'sum', 'mean'))}-{number}"
        spans.append(_span(key, start, stop, random.choice((A, B)), random.choice(actions)))
    seen = [WorkerSeen(A, "a", "h", 2, 1000, now), WorkerSeen(B, "b", "h", 3, 0, now)]
    writer.write(Batch.of(cluster.pk, workers=seen, spans=spans, committed=now + 3600))
    writer.write(Batch.of(cluster.pk, gone=[WorkerGone(B, now + 18, "removed")]))
    for at in (now + 0.5, now + 9.123, spans[7].stop, now + 21, now + 30):
        computed = [span for span in spans if span.action == Action.COMPUTE]
        done = [span for span in computed if span.stop <= at]
        state = _at(member, cluster, at)
        assert {row["name"]: row["done"] for row in state["progress"]} == Counter(
            span.prefix for span in done
        )
        seconds = sum(row["seconds"] for row in state["progress"])
        assert seconds == pytest.approx(sum(span.stop - span.start for span in done), abs=1e-3)
        running = {span.worker for span in computed if span.start <= at < span.stop}
        alive = [A, B] if at < now + 18 else [A]
        assert [worker["running"] for worker in state["workers"]] == [int(each in running) for each in alive]
        assert state["totals"]["threads"] == (5 if at < now + 18 else 2)
        assert state["totals"]["tasks"] == len(done)


def test_tasks_by_state_are_the_last_samples_unless_these_are_too_old(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    def count(metric: str, state: str) -> Series:
        return Series(metric, (("state", state),))

    samples = [
        Sample(count("observatory_cluster_tasks", "memory"), now, 3),
        Sample(count("observatory_cluster_tasks", "memory"), now + 1, 4),
        Sample(count("dask_scheduler_tasks", "memory"), now, 2),
        Sample(count("dask_scheduler_tasks", "queued"), now, 9),
    ]
    writer.write(Batch.of(cluster.pk, samples=samples))
    assert _at(member, cluster, now + 0.5)["tasks"] == {"memory": 3, "queued": 9}
    assert _at(member, cluster, now + 1)["tasks"] == {"memory": 4, "queued": 9}
    assert _at(member, cluster, now + 10)["tasks"] == {"memory": 2, "queued": 9}
    assert _at(member, cluster, now + 40)["tasks"] == {}


def test_running_tasks_at_the_live_edge_are_those_that_workers_report(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    executing = Series("dask_worker_tasks", (("state", "executing"),), A)
    resting = Series("dask_worker_tasks", (("state", "memory"),), B)
    samples = [Sample(executing, now + 20, 2.0), Sample(resting, now + 20, 5.0)]
    writer.write(Batch.of(cluster.pk, samples=samples, committed=now + 22))
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [2, 0]
    writer.write(Batch.of(cluster.pk, committed=now + 31))
    assert [worker["running"] for worker in _at(member, cluster, now + 30)["workers"]] == [0, 0]
    writer.write(Batch.of(cluster.pk, committed=now + 60))
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [0, 0]


def test_a_worker_without_processing_tasks_runs_none_despite_an_older_heartbeat(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    executing = Series("observatory_worker_tasks", (("state", "executing"),), A)
    processing = Series("observatory_worker_processing_tasks", (), A)
    samples = [Sample(executing, now + 20, 2.0), Sample(processing, now + 21, 0.0)]
    writer.write(Batch.of(cluster.pk, samples=samples, committed=now + 22))
    assert [worker["running"] for worker in _at(member, cluster, now + 20.5)["workers"]] == [2, 0]
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [0, 0]


def test_an_old_heartbeat_is_ignored(member: Client, cluster: Cluster, writer: Writer, now: float) -> None:
    _fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 60))
    a, _ = _at(member, cluster, now + 40)["workers"]
    assert a["memory"] is None


def test_the_live_state_has_one_instant_of_which_everything_is_known(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    memory = Series("observatory_cluster_tasks", (("state", "memory"),))
    samples = [Sample(memory, now + 1.5, 1.0), Sample(memory, now + 2.5, 2.0)]
    spans = [_span(f"inc-{number}", now + number, now + number + 1, A) for number in range(3)]
    workers = [WorkerSeen(A, "a", "h", 1, 1000, now)]
    writer.write(Batch.of(cluster.pk, workers=workers, spans=spans, samples=samples, committed=now + 2.2))
    for asked in (now + 2.3, now + 60):
        state = _at(member, cluster, asked)
        assert state["at"] == state["tasks_at"] == pytest.approx(now + 1.5, abs=1e-5)
        assert state["totals"]["tasks"] == state["tasks"]["memory"] == 1
    assert _at(member, cluster, now + 2.1)["at"] == pytest.approx(now + 2.1, abs=1e-5)
    Cluster.objects.filter(pk=cluster.pk).update(ended=datetime.fromtimestamp(now + 3, UTC))
    assert _at(member, cluster, now + 60)["at"] == pytest.approx(now + 60, abs=1e-5)


def test_the_lanes_say_how_long_each_prefix_computed_in_the_scope(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    prefixes = member.get(f"/api/v1/clusters/{cluster.pk}/lanes").json()["prefixes"]
    assert [prefix["seconds"] for prefix in prefixes] == pytest.approx([10.25, 5.0])
    window = Scope(cluster, seconds_to_microseconds(now + 1.5), seconds_to_microseconds(now + 9))
    within = {prefix["name"]: prefix["seconds"] for prefix in lanes(window)["prefixes"]}
    assert within["inc"] == 0.0, "its task of the window stops later"
    assert sum(within.values()) == pytest.approx(5.0)


def test_the_span_of_a_lane_at_a_time_has_its_full_key(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    _fill(writer, cluster, now)
    lanes = member.get(f"/api/v1/clusters/{cluster.pk}/lanes").json()
    worker = {item["address"]: item["id"] for item in lanes["workers"]}[A]
    [lane] = [item["id"] for item in lanes["lanes"] if item["worker"] == worker]
    url = f"/api/v1/clusters/{cluster.pk}/span?lane={lane}&at="
    assert member.get(f"{url}{now + 1.1}").json()["key"] == "inc-1"
    assert member.get(f"{url}{now + 1.7}").json()["action"] == "transfer"
    assert member.get(f"{url}{now + 40}").status_code == 404


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("tiles/nonsense/20/1", "layer"),
        ("tiles/spans/9/1", "level"),
        ("tiles/spans/20/-1", "index"),
        ("tiles/spans/20/99999999999999999999", "index"),
        ("state", "at"),
        ("state?at=nan", "at"),
        ("state?at=1e300", "at"),
        ("span?lane=x&at=1", "lane"),
        ("events?limit=1000000", "limit"),
    ],
)
def test_invalid_parameters_are_refused_and_named(
    member: Client, cluster: Cluster, path: str, named: str
) -> None:
    response = member.get(f"/api/v1/clusters/{cluster.pk}/{path}")
    assert response.status_code == 422
    assert named in response.content.decode()


PATHS = ("", "/lanes", "/tiles/spans/20/1", "/state?at=1800000000", "/span?lane=1&at=1800000000", "/events")


@pytest.mark.parametrize("path", PATHS)
def test_non_members_get_404(stranger: Client, cluster: Cluster, path: str) -> None:
    assert stranger.get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_anonymous_users_get_401(cluster: Cluster, path: str) -> None:
    assert Client().get(f"/api/v1/clusters/{cluster.pk}{path}").status_code == 401
