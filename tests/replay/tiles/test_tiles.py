"""Tiles of every layer and level agree with the rows, whether built from rows or from children."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles import builder
from observatory.replay.tiles.builder import BASE_LEVEL, cached_tiles, get_tile
from observatory.replay.tiles.from_rows import DrawnSeries, has_few_rows, tile_from_rows
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.ingest.writer import Writer
from observatory.store.queries.dimensions import prefix_ids, read_dimensions, read_prefixes
from observatory.store.queries.extents import read_extent
from observatory.wire.blocks import decode
from observatory.wire.records import (
    Span,
)
from tests.replay.committed import direct
from tests.replay.conftest import make_cluster
from tests.replay.tiles.tile_data import (
    ALL_LAYERS,
    LEVELS,
    PROFILE,
    SECONDS,
    STATES,
    TOPICS,
    check_against_rows,
    fill,
    finish,
    level_of,
    rows,
)

__all__ = ["direct"]


@pytest.fixture(scope="module")
def few_rows() -> int:
    """Some tiles have fewer, and those above them more."""
    return 20


@pytest.fixture(scope="module", params=STATES)
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cluster(committed: None, state: str, now: float) -> Cluster:
    """One for all tests of a state: they only read."""
    return make_cluster(now, f"Scheduler-{state}")


@pytest.fixture(scope="module")
def writer(cluster: Cluster) -> Iterator[Writer]:
    with Writer() as writer:
        yield writer


@pytest.fixture(scope="module")
def filled(cluster: Cluster, writer: Writer, now: float) -> list[Span]:
    return fill(cluster, writer, now)


@pytest.fixture(scope="module")
def built(
    state: str,
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    now: float,
    direct: psycopg.Connection,
) -> Cluster:
    return finish(state, cluster, writer, direct, now)


def test_on_each_level_busy_seconds_and_counts_equal_those_of_the_spans(
    built: Cluster, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
    for level in LEVELS:
        check_sums(built, filled, direct, now, level)


def check_sums(
    built: Cluster, filled: list[Span], direct: psycopg.Connection, now: float, level: int
) -> None:
    seconds: dict[Any, float] = defaultdict(float)
    count: Counter[Any] = Counter()
    of_bands = [level_of(direct, built, Layer("spans", band), level, now) for band in (0, 1)]
    for tile_id, blocks in (one for found in of_bands for one in found):
        for lane, prefix, action, busy, started in rows(
            blocks.get("busy"), "lane", "prefix", "action", "seconds", "count"
        ):
            seconds[lane, prefix, action] += busy
            count[lane, prefix, action] += started
        for lane, prefix, action, start, stop in rows(
            blocks.get("span"), "lane", "prefix", "action", "start", "stop"
        ):
            inside = min(stop, tile_id.stop / 1e6) - max(start, tile_id.start / 1e6)
            assert inside > 0
            assert stop - start >= 2 * tile_id.bin_width / 1e6 - 1e-6
            seconds[lane, prefix, action] += inside
            count[lane, prefix, action] += start >= tile_id.start / 1e6
    names = read_dimensions(direct, built.pk, [])
    known = read_prefixes(direct, built.pk, prefix_ids(direct, built.pk))
    prefixes = {prefix["name"]: prefix["id"] for prefix in known}
    workers = {worker["address"]: worker["id"] for worker in names.workers}
    lanes = {(lane["worker"], lane["thread"]): lane["id"] for lane in names.lanes}
    expected: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0])
    for span in filled:
        what = (lanes[workers[span.worker], span.thread], prefixes[span.prefix], int(span.action))
        expected[what][0] += span.stop - span.start
        expected[what][1] += 1
    assert count == {what: total for what, (_, total) in expected.items()}
    assert seconds == pytest.approx(
        {what: total for what, (total, _) in expected.items()}, rel=1e-2, abs=2e-6
    )


def test_the_count_of_each_stack_is_the_same_on_each_level(
    built: Cluster, direct: psycopg.Connection, now: float
) -> None:
    expected = {
        tuple(what): count
        for *what, count in direct.execute(
            """SELECT coalesce(worker_id, -1), coalesce(prefix_id, 0), source, stack_id, sum(count)::bigint
               FROM profile WHERE cluster_id = %s GROUP BY 1, 2, 3, 4""",
            [built.pk],
        )
    }
    assert len(expected) > 500
    for level in LEVELS:
        seen: Counter[Any] = Counter()
        for tile_id, blocks in level_of(direct, built, PROFILE, level, now):
            columns = ("time", "worker", "prefix", "source", "stack", "count")
            for time, *what, count in rows(blocks.get("profile"), *columns):
                assert tile_id.start / 1e6 <= time < tile_id.stop / 1e6
                seen[tuple(what)] += count
        assert seen == expected


@pytest.mark.parametrize("layer", ALL_LAYERS, ids=str)
def test_a_tile_from_children_equals_the_tile_from_rows(
    built: Cluster, direct: psycopg.Connection, now: float, layer: Layer
) -> None:
    for level in (BASE_LEVEL + 1, BASE_LEVEL + 4, BASE_LEVEL + 8):
        check_against_rows(built, direct, now, layer, level)


def test_the_built_tiles_of_a_whole_cluster_are_read_without_rows_unless_these_are_few(
    built: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, few_rows: int
) -> None:
    bodies = {}
    extent = read_extent(direct, built.pk)
    assert extent is not None
    top = builder.covering_tile_ids(extent.first, extent.last)
    for layer in ALL_LAYERS:
        bodies[layer] = [get_tile(direct, Scope(built), layer, tile_id).body for tile_id in top]
    read: list[TileId] = []

    def count_and_read(
        connection: Any, scope: Scope, layer: Layer, tile_id: TileId, series: DrawnSeries
    ) -> bytes:
        if not has_few_rows(connection, scope, layer, tile_id, series, few_rows):
            read.append(tile_id)
        return tile_from_rows(connection, scope, layer, tile_id, series)

    monkeypatch.setattr(builder, "tile_from_rows", count_and_read)
    for layer in ALL_LAYERS:
        assert [get_tile(direct, Scope(built), layer, tile_id).body for tile_id in top] == bodies[layer]
    extent = read_extent(direct, built.pk)
    assert extent is not None
    if built.is_live:
        assert all(not builder.is_closed(tile_id, extent.committed, Scope(built)) for tile_id in read)
    else:
        assert not read


def test_building_again_builds_nothing(built: Cluster, direct: psycopg.Connection) -> None:
    assert sum(builder.build_cluster_tiles(direct, built, layer) for layer in ALL_LAYERS) == 0


def test_each_level_has_every_event_or_its_count(
    built: Cluster, direct: psycopg.Connection, now: float
) -> None:
    for level in LEVELS:
        total: Counter[str] = Counter()
        themselves: Counter[str] = Counter()
        times: list[float] = []
        for tile_id, blocks in level_of(direct, built, Layer("events"), level, now):
            themselves.update(kind for (kind,) in rows(blocks["event"], "kind"))
            for bin, kind, count in rows(blocks.get("event-count"), "bin", "kind", "count"):
                total[kind] += count
                times.append((tile_id.start + (bin << level)) / 1e6)
        assert total + themselves == {"restarted": 150, "topic": TOPICS, "worker-lost": 600}
        assert themselves["worker-lost"] == 600
        assert all(now - 2**level / 1e6 <= time < now + SECONDS for time in times)
        assert (level < BASE_LEVEL) or total["topic"] > TOPICS / 2


def test_of_the_levels_that_are_built_from_others_every_second_one_is_cached(
    built: Cluster, direct: psycopg.Connection
) -> None:
    found = direct.execute(
        "SELECT DISTINCT level FROM tile WHERE cluster_id = %s AND level >= %s AND layer NOT LIKE '%%.each'",
        [built.pk, BASE_LEVEL],
    ).fetchall()
    above = {level - BASE_LEVEL for (level,) in found}
    assert above >= {0, 2}
    assert {level % 2 for level in above} == {0}


def test_a_tile_between_cached_levels_is_built_of_cached_ones(
    built: Cluster, state: str, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it agrees with the rows, as those of all levels, is tested above."""
    monkeypatch.setattr(builder, "tile_from_rows", lambda *arguments: pytest.fail("rows were read"))
    count = direct.execute("SELECT count(*) FROM tile").fetchone()
    for layer in (layer for layer in ALL_LAYERS if layer.band != 1):  # of one worker, with few rows
        for level in (BASE_LEVEL + 1, BASE_LEVEL + 3):
            tile_id = TileId.at(level, round((now + 100) * 1e6))
            [tile] = cached_tiles(direct, Scope(built), [(layer, tile_id)])
            if tile is None:
                assert state == "live", "it may be open"
            else:
                assert len(list(decode(tile.body))) > 1
    assert direct.execute("SELECT count(*) FROM tile").fetchone() == count


def test_the_layer_of_all_workers_has_the_min_mean_and_max_of_their_bands(
    built: Cluster, direct: psycopg.Connection, now: float
) -> None:
    """The scheduler's own series stays separate."""
    for level in (BASE_LEVEL, BASE_LEVEL + 4):
        of_bands: dict[int, list[tuple[float, float, float, int]]] = defaultdict(list)
        for band in (0, 1):
            for _, blocks in level_of(direct, built, Layer("memory", band), level, now):
                for series, *rest in rows(blocks.get("bin"), "series", "min", "max", "mean", "count"):
                    of_bands[series].append(tuple(rest))
        assert len(of_bands) == 4
        together: dict[int, list[tuple[float, float, float, int]]] = defaultdict(list)
        for _, blocks in level_of(direct, built, Layer("memory", None), level, now):
            for series, *rest in rows(blocks.get("bin"), "series", "min", "max", "mean", "count"):
                together[series].append(tuple(rest))
        assert len(together) == 2
        [first] = [series for series in together if sum(count for *_, count in together[series]) == 3 * 150]
        parts = [part for series, found in of_bands.items() for part in found]
        whole = [part for found in together.values() for part in found]
        of_whole = min(least for least, *_ in whole), max(most for _, most, *_ in whole)
        of_parts = min(least for least, *_ in parts), max(most for _, most, *_ in parts)
        assert of_parts == pytest.approx(of_whole, rel=1e-3), "values of workers are rounded"
        assert sum(mean * count for *_, mean, count in parts) == pytest.approx(
            sum(mean * count for *_, mean, count in whole), rel=1e-3, abs=2
        )
        assert first in of_bands


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nothing", "there are spans"),
        ("prefixes.1", "has no parts"),
        ("spans.0", "from 1 on"),
        ("spans.x", "from 1 on"),
        ("spans.all", "from 1 on"),
        ("memory.", "from 1 on"),
        ("memory.12345678", "from 1 on"),
    ],
)
def test_an_invalid_layer_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Layer.parse(text)


@pytest.mark.parametrize("layer", ALL_LAYERS, ids=str)
def test_a_layer_is_parsed_from_its_name(layer: Layer) -> None:
    assert Layer.parse(str(layer)) == layer
