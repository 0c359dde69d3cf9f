"""Tiles and keyframes that are missing, built ahead, or changed by late records tell the same."""

from __future__ import annotations

import gzip
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tasks import build
from observatory.replay.tiles import tiles
from observatory.replay.tiles.base import of_rows
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import Place
from observatory.replay.tiles.profiles import FINEST
from observatory.replay.tiles.pyramid import count_spans
from observatory.replay.tiles.tiles import BASE, tile
from observatory.store.ingest.writer import Writer
from observatory.store.queries import timeline
from observatory.wire.blocks import decode
from observatory.wire.records import (
    Action,
    Batch,
    Event,
    Span,
)
from tests.replay.pyramid import (
    PROFILE,
    SECONDS,
    STATES,
    WORKERS,
    check_against_rows,
    fill,
    finish,
    level_of,
    rows,
)


@pytest.fixture
def filled(cluster: Cluster, writer: Writer, now: float) -> list[Span]:
    return fill(cluster, writer, now)


@pytest.fixture(params=STATES)
def built(
    request: pytest.FixtureRequest,
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    now: float,
    direct: psycopg.Connection,
) -> Cluster:
    return finish(request.param, cluster, writer, direct, now)


def test_a_tile_of_many_stacks_has_fewer_bins_and_loses_none(
    built: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place.at(BASE + 3, round((now + 100) * 1e6))
    [fine] = [block for block in decode(of_rows(direct, Scope(built), PROFILE, place)) if block.rows]
    monkeypatch.setattr("observatory.replay.tiles.profiles.MOST_ROWS", fine.rows // 2)
    direct.execute("DELETE FROM tile WHERE cluster_id = %s", [built.pk])
    coarse = {block.kind: block for block in decode(tile(direct, Scope(built), PROFILE, place).body)}[
        "profile"
    ]
    assert coarse.meta["bins"] < fine.meta["bins"] == FINEST
    assert 0 < coarse.rows <= fine.rows // 2
    assert sum(coarse.list("count")) == sum(fine.list("count"))
    check_against_rows(built, direct, now, PROFILE, BASE + 3)


def test_where_there_are_many_spans_finer_tiles_are_built_ahead(
    cluster: Cluster,
    writer: Writer,
    filled: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiles, "MANY", 100)
    writer.write(Batch(cluster.pk, committed=now + 100_000))
    build(direct, cluster)
    rows = direct.execute(
        "SELECT level, index, body FROM tile WHERE cluster_id = %s AND layer = 'spans' AND level <= %s",
        [cluster.pk, tiles.BASE],
    ).fetchall()
    built = {Place(level, index): count_spans(gzip.decompress(body)) for level, index, body in rows}
    assert min(place.level for place in built) < tiles.BASE - 1
    assert sum(spans <= 100 for spans in built.values()) > 0
    for place, spans in built.items():
        assert any(child in built for child in place.children) == (spans > 100), place


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


def test_a_late_span_changes_the_tiles_and_the_states_after_it(
    cluster: Cluster, writer: Writer, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
    writer.write(Batch(cluster.pk, committed=now + 100_000))
    build(direct, cluster)
    late = Span(WORKERS[0], 1, "late-1", "late", "late", Action.COMPUTE, now + 10, now + 12, 8, "int")
    writer.write(Batch(cluster.pk, spans=[late]))
    build(direct, cluster)
    for layers in ([Layer("spans"), Layer("spans", 1)], [Layer("prefixes")]):
        for level in (BASE, BASE + 5):
            total = 0
            for place, blocks in (
                one for layer in layers for one in level_of(direct, cluster, layer, level, now)
            ):
                total += sum(count for (count,) in rows(blocks.get("busy"), "count"))
                total += sum(start >= place.start / 1e6 for (start,) in rows(blocks.get("span"), "start"))
            assert total == len(filled) + 1
    for second, done in ((11, 0), (13, 1), (250, 1)):
        with timeline.snapshot(direct):
            state = state_at(direct, Scope(cluster), round((now + second) * 1e6))
        assert [row["done"] for row in state["progress"] if row["name"] == "late"] == [1] * done


def test_a_late_profile_row_is_seen_in_its_tile(
    cluster: Cluster, writer: Writer, filled: list[Span], direct: psycopg.Connection, now: float
) -> None:
    def seen(level: int) -> int:
        found = level_of(direct, cluster, PROFILE, level, now)
        return sum(count for _, blocks in found for (count,) in rows(blocks.get("profile"), "count"))

    writer.write(Batch(cluster.pk, committed=now + 100_000))
    build(direct, cluster)
    before = seen(BASE)
    late = (now + 10, WORKERS[0], "task", "late", "late\tlate.py\t1", 1_000)
    writer.write(Batch(cluster.pk, rows={"profile": [late]}))
    build(direct, cluster)
    for level in (BASE, BASE + 5):
        assert seen(level) == before + 1_000


def test_while_nothing_closes_a_cluster_costs_one_look(
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

        build(Counting(), cluster)  # type: ignore[arg-type]
        return len(looked)

    build(direct, cluster)
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
