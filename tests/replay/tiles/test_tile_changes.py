"""Tiles and keyframes that are missing, built ahead or changed by late records give the same result."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay import tasks
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles import builder
from observatory.replay.tiles.builder import BASE_LEVEL, get_tile
from observatory.replay.tiles.from_children import count_spans
from observatory.replay.tiles.from_rows import tile_from_rows
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.profiles import MAXIMUM_BINS
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance import keyframes
from observatory.store.queries import timeline
from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.wire.blocks import decode
from observatory.wire.layers import LAYERS
from observatory.wire.records import Action, Event, MetricType, Sample, Series, Span
from tests.replay.conftest import CLOSED
from tests.replay.tiles.tile_data import (
    PROFILE,
    SECONDS,
    STATES,
    WORKERS,
    check_against_rows,
    fill,
    finish,
    from_rows,
    level_of,
    rows,
)


@pytest.fixture
def filled(cluster: Cluster, writer: Writer, now: float) -> list[Span]:
    return fill(cluster, writer, now)


@pytest.fixture
def build_only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Names the layers that a test looks at: building all of them takes seconds."""

    def only(*names: str) -> None:
        layers = [Layer.parse(name) for name in names]
        for module, function in ((tasks, "built_layers"), (builder, "layers_for")):
            monkeypatch.setattr(module, function, lambda workers: layers)

    return only


@pytest.fixture(params=STATES)
def built(
    request: pytest.FixtureRequest,
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    now: float,
    direct: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    build_only: Callable[..., None],
) -> Cluster:
    build_only("profile")
    monkeypatch.setattr(keyframes, "MANY_RECORDS", 100)
    return finish(request.param, cluster, writer, direct, now)


def test_a_tile_of_many_stacks_has_fewer_bins_but_the_same_counts(
    built: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile_id = TileId.at(BASE_LEVEL + 3, round((now + 100) * 1e6))
    [fine] = [block for block in decode(from_rows(direct, Scope(built), PROFILE, tile_id)) if block.rows]
    monkeypatch.setattr("observatory.replay.tiles.profiles.MAXIMUM_ROWS", fine.rows // 2)
    direct.execute("DELETE FROM tile WHERE cluster_id = %s", [built.pk])
    coarse = {block.kind: block for block in decode(get_tile(direct, Scope(built), PROFILE, tile_id).body)}[
        "profile"
    ]
    assert coarse.meta["bins"] < fine.meta["bins"] == MAXIMUM_BINS
    assert 0 < coarse.rows <= fine.rows // 2
    assert sum(coarse.list("count")) == sum(fine.list("count"))
    check_against_rows(built, direct, now, PROFILE, BASE_LEVEL + 3)


@pytest.mark.parametrize("is_run_first", [False, True])
def test_finer_tiles_are_built_ahead_where_there_are_many_spans(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
    build_only: Callable[..., None],
    is_run_first: bool,
) -> None:
    build_only("spans")
    monkeypatch.setattr(builder, "MANY_SPANS", 100)
    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    if is_run_first:
        builder.build_window_tiles(direct, Scope(cluster, start=round(now * 1e6) - 1))
    build_cluster(direct, cluster)
    rows = direct.execute(
        "SELECT level, index, body FROM tile WHERE cluster_id = %s AND layer = 'spans' AND level <= %s",
        [cluster.pk, builder.BASE_LEVEL],
    ).fetchall()
    built = {TileId(level, index): count_spans(gzip.decompress(body)) for level, index, body in rows}
    assert min(tile_id.level for tile_id in built) < builder.BASE_LEVEL - 1
    assert sum(spans <= 100 for spans in built.values()) > 0
    for tile_id, spans in built.items():
        assert any(child in built for child in tile_id.children) == (spans > 100), tile_id


def test_tiles_of_a_cluster_are_built_only_after_something_new(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    now: float,
    monkeypatch: pytest.MonkeyPatch,
    build_only: Callable[..., None],
) -> None:
    build_only("spans", "memory")
    built: list[Cluster] = []
    build = tasks.build_if_unlocked
    monkeypatch.setattr(tasks, "build_if_unlocked", lambda found: (built.append(found), build(found)))
    for _ in range(2):
        tasks.build_tiles()
    assert built == [cluster]
    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    for _ in range(2):
        tasks.build_tiles()
    assert built == [cluster, cluster]


@pytest.fixture
def looks(cluster: Cluster, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], bool]:
    """Whether the cluster is looked at when everything before that time is stored."""
    built: list[Cluster] = []

    def looks(committed: float) -> bool:
        writer.write(Batch.of(cluster.pk, committed=committed))
        built.clear()
        tasks.build_tiles()
        return bool(built)

    build = tasks.build_if_unlocked
    monkeypatch.setattr(tasks, "build_if_unlocked", lambda found: (built.append(found), build(found)))
    return looks


def test_with_more_live_clusters_each_is_looked_at_less_often(
    looks: Callable[[float], bool], filled: list[Span], now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = (int((now + CLOSED) * 1e6) >> tasks.MAXIMUM_STEP) + 1
    start = (first << tasks.MAXIMUM_STEP) / 1e6 + tasks.SETTLING + 1
    step = 2**tasks.STEP / 1e6
    assert looks(start)
    assert looks(start + step), "one live cluster"
    monkeypatch.setattr(tasks, "CLUSTERS_OF_STEP", 1)
    assert sum(looks(start + number * step) for number in range(2, 10)) == 4
    monkeypatch.setattr(tasks, "CLUSTERS_OF_STEP", 0)
    monkeypatch.setattr(tasks, "FEW_WORKERS", 1000)
    monkeypatch.setattr(tasks, "FEWEST_WORKERS", 0)
    assert sum(looks(start + number * step) for number in range(10, 26)) == 1, "it is small"
    monkeypatch.setattr(tasks, "FEWEST_WORKERS", 1000)
    found = sum(looks(start + number * 16 * step) for number in range(2, 11))
    assert found in (1, 2), "it is one of the smallest"


def test_a_small_cluster_that_is_one_of_many_is_not_looked_at_when_it_begins(
    looks: Callable[[float], bool], filled: list[Span], now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand that begin together kept a core busy for minutes, with tiles of half a minute each."""
    monkeypatch.setattr(tasks, "CLUSTERS_OF_STEP", 0)
    monkeypatch.setattr(tasks, "FEW_WORKERS", 1000)
    step = 2**tasks.STEP / 1e6
    found = [looks(now + tasks.SETTLING + (number + 0.5) * step) for number in range(16)]
    assert sum(found) <= 1, "once in nine minutes"


def test_sums_of_few_rows_are_made_of_them_and_not_cached(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cached() -> set[str]:
        for layer in SUM_LAYERS:
            builder.build_cluster_tiles(direct, cluster, Layer(layer))
        query = "SELECT DISTINCT layer FROM tile WHERE cluster_id = %s AND level < %s"
        return {layer for (layer,) in direct.execute(query, [cluster.pk, builder.KEPT_LEVEL]).fetchall()}

    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    monkeypatch.setattr(builder, "FEW_SUMMED_ROWS", len(filled) * 10)
    assert cached() == set()
    monkeypatch.setattr(builder, "FEW_SUMMED_ROWS", 0)
    assert cached() >= {"prefix-durations", "group-durations", "worker-sums"}


def test_the_state_is_the_same_with_keyframes_and_without(
    built: Cluster, direct: psycopg.Connection, filled: list[Span], now: float
) -> None:
    def states() -> list[Any]:
        with timeline.snapshot(direct):
            return [
                state_at(direct, Scope(built), round((now + second) * 1e6))
                for second in range(0, SECONDS + 60, 7)
            ]

    row = direct.execute("SELECT count(*) FROM keyframe WHERE cluster_id = %s", [built.pk]).fetchone()
    assert row is not None
    assert row[0] >= 3
    with_keyframes = states()
    direct.execute("DELETE FROM keyframe WHERE cluster_id = %s", [built.pk])
    for found, expected in zip(with_keyframes, states(), strict=True):
        for progress, other in zip(found.pop("progress"), expected.pop("progress"), strict=True):
            assert progress == {**other, "seconds": pytest.approx(other["seconds"])}
        assert found.pop("totals") == {
            **expected["totals"],
            "seconds": pytest.approx(expected.pop("totals")["seconds"]),
        }
        assert found == expected


def test_a_late_span_changes_the_tiles_and_later_states(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    build_only: Callable[..., None],
) -> None:
    build_only("spans", "spans.1", "prefixes")
    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    build_cluster(direct, cluster)
    late = Span(WORKERS[0], 1, "late-1", "late", "late", Action.COMPUTE, now + 10, now + 12, 8, "int")
    writer.write(Batch.of(cluster.pk, spans=[late]))
    build_cluster(direct, cluster)
    for layers in ([Layer("spans"), Layer("spans", 1)], [Layer("prefixes")]):
        for level in (BASE_LEVEL, BASE_LEVEL + 5):
            total = 0
            for tile_id, blocks in (
                one for layer in layers for one in level_of(direct, cluster, layer, level, now)
            ):
                total += sum(count for (count,) in rows(blocks.get("busy"), "count"))
                total += sum(start >= tile_id.start / 1e6 for (start,) in rows(blocks.get("span"), "start"))
            assert total == len(filled) + 1
    for second, done in ((11, 0), (13, 1), (250, 1)):
        with timeline.snapshot(direct):
            state = state_at(direct, Scope(cluster), round((now + second) * 1e6))
        assert [row["done"] for row in state["progress"] if row["name"] == "late"] == [1] * done


def test_a_late_profile_row_is_in_its_tile(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    build_only: Callable[..., None],
) -> None:
    build_only("profile")

    def seen(level: int) -> int:
        found = level_of(direct, cluster, PROFILE, level, now)
        return sum(count for _, blocks in found for (count,) in rows(blocks.get("profile"), "count"))

    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    build_cluster(direct, cluster)
    before = seen(BASE_LEVEL)
    late = (now + 10, WORKERS[0], "task", "late", "late\tlate.py\t1", 1_000)
    writer.write(Batch.of(cluster.pk, rows={"profile": [late]}))
    build_cluster(direct, cluster)
    for level in (BASE_LEVEL, BASE_LEVEL + 5):
        assert seen(level) == before + 1_000


def test_a_series_that_is_first_stored_while_tiles_are_built_is_in_those_built_after_it(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    series = Series(LAYERS["memory"][0], (("type", "late"),), WORKERS[0], MetricType.GAUGE)
    late = [Sample(series, now + SECONDS - 10, 7.0)]

    def store_and_read(*arguments: Any) -> bytes:
        if late:
            writer.write(Batch.of(cluster.pk, samples=[late.pop()]))
        return tile_from_rows(*arguments)

    monkeypatch.setattr(builder, "FEW_ROWS", 0)
    monkeypatch.setattr(builder, "tile_from_rows", store_and_read)
    builder.build_cluster_tiles(direct, cluster, Layer("memory"))
    index = TileId.at(BASE_LEVEL, round((now + SECONDS - 10) * 1e6)).index
    [(body,)] = direct.execute(
        """SELECT body FROM tile JOIN extent USING (cluster_id, version)
           WHERE cluster_id = %s AND layer = 'memory' AND level = %s AND index = %s""",
        [cluster.pk, BASE_LEVEL, index],
    ).fetchall()
    [block] = [block for block in decode(gzip.decompress(body)) if block.kind == "bin"]
    assert 7.0 in block.list("last")


def test_building_a_cluster_without_changes_costs_one_query(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    build_only: Callable[..., None],
) -> None:
    build_only("spans", "memory")

    def looks() -> int:
        looked: list[str] = []
        execute = direct.execute

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(direct, name)

            def execute(self, query: Any, *arguments: Any) -> Any:
                looked.append(query)
                return execute(query, *arguments)

        build_cluster(Counting(), cluster)  # type: ignore[arg-type]
        return len(looked)

    build_cluster(direct, cluster)
    assert looks() == 1
    writer.write(Batch.of(cluster.pk, committed=now + SECONDS + 40))
    assert looks() > 1
    assert looks() == 1
    Cluster.objects.update(ended=cluster.started)
    cluster.refresh_from_db()
    assert looks() > 1
    assert looks() == 1
    writer.write(Batch.of(cluster.pk, events=[Event(now + SECONDS, "topic", "", {})]))
    assert looks() > 1
