"""A recording with little in it is cached in few tiles, and reads as one that is cached in many."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles import builder
from observatory.replay.tiles.builder import BASE_LEVEL, FEW_ROWS, KEPT_LEVEL, get_tile
from observatory.replay.tiles.from_rows import has_few_rows
from observatory.replay.tiles.layers import LAYER_NAMES, Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.extents import read_extent
from observatory.wire.layers import LAYERS, OF_WORKERS
from observatory.wire.records import Action, MetricType, Sample, Series, Span, WorkerSeen
from tests.replay.committed import direct
from tests.replay.conftest import CLOSED, make_cluster
from tests.replay.tiles.tile_data import from_rows

__all__ = ["direct"]

HOURS = 48
SPANS, SAMPLES = 3_539, 12_000
"""in all, and of each layer: with fewer of each, their tiles would take a larger share"""
WORKER = "tcp://127.0.0.1:1"
TILES = "SELECT count(*), sum(pg_column_size(body)) FROM tile WHERE cluster_id = %s"


@pytest.fixture(scope="module")
def few_rows() -> int:
    return FEW_ROWS


@pytest.fixture(scope="module")
def sparse(committed: None, now: float) -> Cluster:
    """Two days with bursts of tasks and a sample of each layer every 14 s; all tiles are closed."""
    first = now - HOURS * 3_600
    cluster = make_cluster(first, "Scheduler-sparse")
    random = Random(2)
    spans = []
    for number in range(SPANS):
        start = round(first + 6 * 3_600 * random.randrange(8) + random.expovariate(1 / 600), 6)
        key = f"inc-{number}"
        spans.append(Span(WORKER, 1, key, "inc", "inc", Action.COMPUTE, start, start + 0.5, 8, "int"))
    samples = []
    for layer, [metric, *_] in LAYERS.items():
        kind = MetricType.COUNTER if metric.endswith("_total") else MetricType.GAUGE
        series = Series(metric, (("type", "x"),), WORKER if layer in OF_WORKERS else "", kind)
        step = HOURS * 3_600 / SAMPLES
        samples += [Sample(series, first + number * step, float(number)) for number in range(SAMPLES)]
    with Writer() as writer:
        seen = [WorkerSeen(WORKER, "w", "h", 2, 1000, first)]
        writer.write(Batch.of(cluster.pk, seen, spans, samples, committed=now))
        writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    return cluster


@pytest.fixture(scope="module")
def built(sparse: Cluster, direct: psycopg.Connection) -> Cluster:
    build(sparse, direct)
    return sparse


def build(cluster: Cluster, connection: psycopg.Connection) -> int:
    return sum(builder.build_cluster_tiles(connection, cluster, layer) for layer in map(Layer, LAYER_NAMES))


def test_two_days_with_few_records_are_cached_in_few_tiles(
    built: Cluster, direct: psycopg.Connection
) -> None:
    tiles, room = direct.execute(TILES, [built.pk]).fetchone() or (0, 0)
    assert 0 < tiles <= 1_000
    rows = 0
    for table in ("span", "sample"):
        query = f"SELECT sum(pg_column_size({table})) FROM {table} WHERE cluster_id = %s"
        rows += (direct.execute(query, [built.pk]).fetchone() or [0])[0]  # type: ignore[arg-type]
    assert room <= rows / 5


def test_looking_closer_caches_no_tiles(built: Cluster, direct: psycopg.Connection, now: float) -> None:
    before = direct.execute(TILES, [built.pk]).fetchone()
    middle = round((now - 12 * 3_600 + 60) * 1e6)
    for layer in ("spans", "prefixes", "memory"):
        for level in range(BASE_LEVEL, KEPT_LEVEL):
            assert get_tile(direct, Scope(built), Layer(layer), TileId.at(level, middle)).closed
    assert direct.execute(TILES, [built.pk]).fetchone() == before


@pytest.mark.parametrize("level", [BASE_LEVEL - 2, BASE_LEVEL + 4, KEPT_LEVEL, KEPT_LEVEL + 1])
def test_a_tile_of_few_rows_is_that_of_its_rows(
    built: Cluster, direct: psycopg.Connection, now: float, level: int
) -> None:
    for layer in map(Layer, LAYER_NAMES):
        tile_id = TileId.at(level, round((now - 12 * 3_600 + 60) * 1e6))
        body = get_tile(direct, Scope(built), layer, tile_id).body
        if level <= KEPT_LEVEL:
            assert body.endswith(from_rows(direct, Scope(built), layer, tile_id))
        else:
            assert len(body) > 1_000 or layer.name in ("events", "profile")


def test_building_again_reads_no_rows(
    built: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "tile_from_rows", lambda *arguments: pytest.fail("rows were read"))
    assert build(built, direct) == 0


def test_the_rows_of_a_tile_that_is_cached_are_counted_once(
    built: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[tuple[str, int, int]] = Counter()

    def count(connection: Any, scope: Scope, layer: Layer, tile_id: TileId, *more: Any) -> bool:
        counted[str(layer), tile_id.level, tile_id.index] += 1
        return has_few_rows(connection, scope, layer, tile_id, *more)

    monkeypatch.setattr(builder, "has_few_rows", count)
    direct.execute("DELETE FROM tile WHERE cluster_id = %s", [built.pk])
    assert build(built, direct) > 0
    query = "SELECT layer, level, index FROM tile WHERE cluster_id = %s AND level <= %s"
    cached = direct.execute(query, [built.pk, KEPT_LEVEL]).fetchall()
    assert {counted[tile] for tile in cached} == {1}


def test_a_tile_to_which_many_late_records_come_is_cached_then(
    built: Cluster, direct: psycopg.Connection, now: float
) -> None:
    start = now - 5 * 3_600
    tile_id = TileId.at(BASE_LEVEL + 2, round((start + 60) * 1e6))
    late = [
        Span(WORKER, 1, f"late-{number}", "late", "late", Action.COMPUTE, at, at + 0.01, 8, "int")
        for number in range(FEW_ROWS + 1)
        for at in [tile_id.start / 1e6 + number * 0.05]
    ]
    with Writer() as writer:
        writer.write(Batch.of(built.pk, spans=late))
    build(built, direct)
    cached = {
        TileId(level, index)
        for level, index in direct.execute(
            "SELECT level, index FROM tile WHERE cluster_id = %s AND layer = 'spans'", [built.pk]
        )
    }
    assert tile_id in cached
    extent = read_extent(direct, built.pk)
    assert extent is not None
    assert extent.version == 2
    assert len([found for found in cached if found.level < KEPT_LEVEL]) < 20
