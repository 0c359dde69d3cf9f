"""Tiles of every layer and level agree with the rows, whether built from rows or from children."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles import builder
from observatory.replay.tiles.builder import BASE_LEVEL, get_tile
from observatory.replay.tiles.from_children import count_spans
from observatory.replay.tiles.from_rows import tile_from_rows
from observatory.replay.tiles.layers import Layer, layers_for
from observatory.replay.tiles.levels import TileId
from observatory.replay.tiles.profiles import MAXIMUM_BINS
from observatory.store.ingest.writer import Writer
from observatory.store.queries import timeline
from observatory.store.queries.extents import read_extent
from observatory.wire.blocks import Block, decode
from observatory.wire.layers import LAYERS
from observatory.wire.records import (
    Action,
    Batch,
    Event,
    MetricType,
    Sample,
    Series,
    Span,
    WorkerSeen,
)

WORKERS = [f"tcp://127.0.0.1:{number}" for number in range(1, 71)]
"""two bands of workers"""
ALL_LAYERS = layers_for(len(WORKERS))
PROFILE = Layer("profile")
SECONDS = 300
TOPICS = 3_000
LEVELS = range(BASE_LEVEL - 2, BASE_LEVEL + 9)


@pytest.fixture
def filled(cluster: Cluster, writer: Writer, now: float) -> list[Span]:
    """Five minutes of tasks of a millisecond to a minute, samples of every layer, profiles and events."""
    random = Random(4)
    spans = []
    for number in range(3_000):
        start = now + random.uniform(0, SECONDS - 60)
        length = min(60.0, random.lognormvariate(-3, 2))
        prefix = random.choice(("inc", "sum", "load"))
        start = round(start, 6)
        stop = round(start + length, 6)
        worker, thread = random.choice(WORKERS), random.randrange(2)
        action = random.choice((Action.COMPUTE, Action.COMPUTE, Action.TRANSFER))
        spans.append(
            Span(worker, thread, f"{prefix}-{number}", prefix, prefix, action, start, stop, 8, "int")
        )
    samples = []
    for metrics in LAYERS.values():
        kind = MetricType.COUNTER if metrics[0].endswith("_total") else MetricType.GAUGE
        for worker in ("", WORKERS[0], WORKERS[1], WORKERS[-1]):
            series = Series(metrics[0], (("type", "x"),), worker, kind)
            total = 0.0
            for second in range(0, SECONDS, 2):
                total += random.random()
                value = total if kind == MetricType.COUNTER else random.gauss(0, 100)
                samples.append(Sample(series, now + second + random.random(), value))
    events = [Event(now + n * 1.7, "restarted", "", {"message": f"event {n}"}) for n in range(150)]
    events += [Event(now + n * 0.05, "topic", "", {"message": f"log {n}"}) for n in range(TOPICS)]
    events += [Event(now + n * 0.4, "worker-lost", "", {}) for n in range(600)]
    seen = [WorkerSeen(worker, "w", "h", 2, 1000, now) for worker in WORKERS]
    rows = {"profile": list(profiles(random, now))}
    writer.write(Batch(cluster.pk, seen, spans, samples, events, committed=now + SECONDS, rows=rows))
    return spans


def profiles(random: Random, now: float) -> Iterator[tuple[Any, ...]]:
    """Rows of kind `profile`: two workers' tasks and event loops, the scheduler's event loop."""
    for _ in range(4_000):
        time = round(now + random.uniform(0, SECONDS), 6)
        stack = "\n".join(f"f{random.randrange(4)}\tf.py\t{line}" for line in range(random.randrange(1, 4)))
        worker = random.choice(("", *WORKERS[:2]))
        if worker and random.random() < 0.8:
            yield time, worker, "task", random.choice(("inc", "sum", "load")), stack, random.randrange(1, 99)
        else:
            yield time, worker, "event-loop", "", stack, 1


@pytest.fixture(params=["live", "closed", "ended"])
def built(
    request: pytest.FixtureRequest,
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    now: float,
    direct: psycopg.Connection,
) -> Cluster:
    """A cluster whose tiles are partly closed; all closed; or left open by its end."""
    if request.param == "closed":
        writer.write(Batch(cluster.pk, committed=now + 100_000))
    if request.param == "ended":
        Cluster.objects.update(ended=cluster.started)
        cluster.refresh_from_db()
    build_cluster(direct, cluster)
    return cluster


def level_of(direct: psycopg.Connection, cluster: Cluster, layer: Layer, level: int, now: float) -> list[Any]:
    """Return (tile_id, blocks by kind) for each tile of a level that covers the cluster."""
    first, last = (
        TileId.at(level, round(now * 1e6)).index,
        TileId.at(level, round((now + SECONDS) * 1e6)).index,
    )
    found = []
    for index in range(first, last + 1):
        tile_id = TileId(level, index)
        body = get_tile(direct, Scope(cluster), layer, tile_id).body
        found.append((tile_id, {block.kind: block for block in decode(body)}))
    return found


def rows(block: Block | None, *columns: str) -> list[tuple[Any, ...]]:
    return [] if block is None else list(zip(*(block.list(name) for name in columns), strict=True))


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
    names = timeline.dimensions(direct, built.pk, [])
    prefixes = {prefix["name"]: prefix["id"] for prefix in names.prefixes}
    workers = {worker["address"]: worker["id"] for worker in names.workers}
    lanes = {(lane["worker"], lane["thread"]): lane["id"] for lane in names.lanes}
    expected: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0])
    for span in filled:
        what = (lanes[workers[span.worker], span.thread], prefixes[span.prefix], int(span.action))
        expected[what][0] += span.stop - span.start
        expected[what][1] += 1
    assert count == {what: total for what, (_, total) in expected.items()}
    assert seconds == pytest.approx(
        {what: total for what, (total, _) in expected.items()}, rel=1e-5, abs=2e-6
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


def test_a_tile_of_many_stacks_has_fewer_bins_but_the_same_counts(
    built: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile_id = TileId.at(BASE_LEVEL + 3, round((now + 100) * 1e6))
    [fine] = [block for block in decode(tile_from_rows(direct, Scope(built), PROFILE, tile_id)) if block.rows]
    monkeypatch.setattr("observatory.replay.tiles.profiles.MAXIMUM_ROWS", fine.rows // 2)
    direct.execute("DELETE FROM tile WHERE cluster_id = %s", [built.pk])
    coarse = {block.kind: block for block in decode(get_tile(direct, Scope(built), PROFILE, tile_id).body)}[
        "profile"
    ]
    assert coarse.meta["bins"] < fine.meta["bins"] == MAXIMUM_BINS
    assert 0 < coarse.rows <= fine.rows // 2
    assert sum(coarse.list("count")) == sum(fine.list("count"))
    check_against_rows(built, direct, now, PROFILE, BASE_LEVEL + 3)


@pytest.mark.parametrize("layer", ALL_LAYERS, ids=str)
def test_a_tile_from_children_equals_the_tile_from_rows(
    built: Cluster, direct: psycopg.Connection, now: float, layer: Layer
) -> None:
    for level in (BASE_LEVEL + 1, BASE_LEVEL + 4, BASE_LEVEL + 8):
        check_against_rows(built, direct, now, layer, level)


def check_against_rows(
    built: Cluster, direct: psycopg.Connection, now: float, layer: Layer, level: int
) -> None:
    for tile_id, blocks in level_of(direct, built, layer, level, now):
        expected = {
            block.kind: block for block in decode(tile_from_rows(direct, Scope(built), layer, tile_id))
        }
        assert set(blocks) - {"extent"} == set(expected)
        for kind, block in expected.items():
            names = tuple(block.columns)
            assert json.dumps(dict(blocks[kind].meta)) == json.dumps(dict(block.meta))
            made, of_the_rows = (
                {
                    row[:4] if kind == "busy" else row[:2] if kind in ("bin", "event-count") else row: row
                    for row in rows(found, *names)
                }
                for found in (blocks[kind], block)
            )
            assert made.keys() == of_the_rows.keys()
            for what, row in of_the_rows.items():
                for value, other in zip(made[what], row, strict=True):
                    assert value == (
                        pytest.approx(other, rel=1e-5, abs=1e-6) if isinstance(other, float) else other
                    )


def test_the_built_tiles_of_a_whole_cluster_are_read_without_rows(
    built: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {}
    extent = read_extent(direct, built.pk)
    assert extent is not None
    top = builder.covering_tile_ids(extent.first, extent.last)
    for layer in ALL_LAYERS:
        bodies[layer] = [get_tile(direct, Scope(built), layer, tile_id).body for tile_id in top]
    read: list[TileId] = []

    def count_and_read(connection: Any, scope: Scope, layer: Layer, tile_id: TileId) -> bytes:
        read.append(tile_id)
        return tile_from_rows(connection, scope, layer, tile_id)

    monkeypatch.setattr(builder, "tile_from_rows", count_and_read)
    for layer in ALL_LAYERS:
        assert [get_tile(direct, Scope(built), layer, tile_id).body for tile_id in top] == bodies[layer]
    extent = read_extent(direct, built.pk)
    assert extent is not None
    if built.is_live:
        assert all(not builder.is_closed(tile_id, extent.committed, Scope(built)) for tile_id in read)
    else:
        assert not read


def test_finer_tiles_are_built_ahead_where_there_are_many_spans(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builder, "MANY_SPANS", 100)
    writer.write(Batch(cluster.pk, committed=now + 100_000))
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


def test_building_again_builds_nothing(built: Cluster, direct: psycopg.Connection) -> None:
    assert sum(builder.build_cluster_tiles(direct, built, layer) for layer in ALL_LAYERS) == 0


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
    cluster: Cluster, writer: Writer, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
    writer.write(Batch(cluster.pk, committed=now + 100_000))
    build_cluster(direct, cluster)
    late = Span(WORKERS[0], 1, "late-1", "late", "late", Action.COMPUTE, now + 10, now + 12, 8, "int")
    writer.write(Batch(cluster.pk, spans=[late]))
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
    cluster: Cluster, writer: Writer, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
    def seen(level: int) -> int:
        found = level_of(direct, cluster, PROFILE, level, now)
        return sum(count for _, blocks in found for (count,) in rows(blocks.get("profile"), "count"))

    writer.write(Batch(cluster.pk, committed=now + 100_000))
    build_cluster(direct, cluster)
    before = seen(BASE_LEVEL)
    late = (now + 10, WORKERS[0], "task", "late", "late\tlate.py\t1", 1_000)
    writer.write(Batch(cluster.pk, rows={"profile": [late]}))
    build_cluster(direct, cluster)
    for level in (BASE_LEVEL, BASE_LEVEL + 5):
        assert seen(level) == before + 1_000


def test_building_a_cluster_without_changes_costs_one_query(
    cluster: Cluster, writer: Writer, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
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
    writer.write(Batch(cluster.pk, committed=now + SECONDS + 40))
    assert looks() > 1
    assert looks() == 1
    Cluster.objects.update(ended=cluster.started)
    cluster.refresh_from_db()
    assert looks() > 1
    assert looks() == 1
    writer.write(Batch(cluster.pk, events=[Event(now + SECONDS, "topic", "", {})]))
    assert looks() > 1


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
        assert min(least for least, *_ in parts) == min(least for least, *_ in whole)
        assert max(most for _, most, *_ in parts) == max(most for _, most, *_ in whole)
        assert sum(mean * count for *_, mean, count in parts) == pytest.approx(
            sum(mean * count for *_, mean, count in whole)
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
