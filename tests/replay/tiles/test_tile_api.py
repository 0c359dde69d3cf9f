"""The API of tiles: what they have, when they are cached, and for how long."""

from __future__ import annotations

import gzip
import threading
import time
from contextlib import ExitStack
from typing import Any

import django.db
import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tiles import builder, requested_tiles
from observatory.replay.tiles.builder import BASE_LEVEL, get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import MINIMUM_LEVEL, TileId
from observatory.replay.tiles.tile import Tile
from observatory.store.connection import MAXIMUM_BUILDERS, build_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import MAXIMUM_TIME, from_seconds, seconds_to_microseconds
from observatory.wire.blocks import Block, decode
from tests.replay.conftest import LEVEL
from tests.replay.records import B, fill, make_span
from tests.support.tile_urls import unpacked


def _tile_url(cluster: Cluster, layer: str, at: float, version: int | None = None) -> str:
    index = int(at * 1e6) // (512 << LEVEL)
    query = "" if version is None else f"?version={version}"
    return f"/api/v1/clusters/{cluster.pk}/tiles/{layer}/{LEVEL}/{index}{query}"


def _blocks(client: Client, url: str) -> dict[str, Block]:
    response = client.get(url)
    assert response.status_code == 200, response.content
    return {block.kind: block for block in decode(response.content)}


def _cached_tiles(connection: psycopg.Connection, cluster: Cluster) -> int:
    query = "SELECT count(*) FROM tile WHERE cluster_id = %s AND level = %s"
    [count] = connection.execute(query, [cluster.pk, LEVEL]).fetchone() or (0,)
    return int(count)


def test_a_spans_tile_has_long_spans_and_bins_of_short_ones(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    blocks = _blocks(member, _tile_url(cluster, "spans", now + 5))
    assert blocks["span"].list("key") == ["inc-2", "sum-<img src=x onerror=alert(1)>"]
    assert blocks["span"].list("start") == [now + 2, now + 3]
    assert sum(blocks["busy"].list("seconds")) == pytest.approx(0.75, rel=3e-3)
    assert sum(blocks["busy"].list("count")) == 2
    assert blocks["extent"].meta["sequence"] == 1


def test_a_series_tile_has_the_statistics_of_each_series(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "memory", now + 5))["bin"]
    assert sum(block.list("count")) == 10
    assert block.list("last")[-1] == 109.0


def test_an_event_tile_has_the_events(member: Client, cluster: Cluster, writer: Writer, now: float) -> None:
    fill(writer, cluster, now)
    block = _blocks(member, _tile_url(cluster, "events", now + 5))["event"]
    assert (block.list("kind"), block.list("message")) == (["worker-lost"], ["gone"])


def test_an_open_tile_is_revalidated_and_a_closed_one_is_immutable(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5, version=1)
    assert member.get(url)["Cache-Control"] == "private, no-cache"
    writer.write(Batch.of(cluster.pk, committed=time.time() + 3600))
    assert "immutable" in member.get(url)["Cache-Control"]
    assert "immutable" not in member.get(_tile_url(cluster, "spans", now + 5, version=7))["Cache-Control"]


def test_a_closed_tile_is_built_once_and_answered_304_for_its_etag(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    fill(writer, cluster, now)
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
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    cached = _tile_url(cluster, "spans", now + 5, version=1)
    expected = member.get(cached).content
    with ExitStack() as stack:
        for _ in range(MAXIMUM_BUILDERS):
            stack.enter_context(build_connection())
        assert member.get(cached).content == expected
        assert member.get(f"/api/v1/clusters/{cluster.pk}/state?at={now + 5}").status_code == 200

    held_by_the_request = django.db.connections["default"]

    def build(*what: Any) -> Tile:
        assert held_by_the_request.connection is None
        return get_tile(*what)

    monkeypatch.setattr(requested_tiles, "get_tile", build)
    assert member.get(_tile_url(cluster, "prefixes", now + 5)).status_code == 200


@pytest.mark.parametrize("is_live", [True, False], ids=["live", "ended"])
def test_nothing_is_stored_for_tiles_and_bands_that_do_not_exist(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection, is_live: bool
) -> None:
    fill(writer, cluster, now)
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
    fill(writer, cluster, now)
    url = _tile_url(cluster, "spans", now + 5)
    plain = member.get(url)
    compressed = member.get(url, headers={"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain
    assert compressed["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert {"Accept-Encoding", "Cookie"} <= set(compressed["Vary"].split(", "))


def _together_url(cluster: Cluster, *names: str, version: int | None = None) -> str:
    query = "" if version is None else f"&version={version}"
    return f"/api/v1/clusters/{cluster.pk}/tiles?of={','.join(names)}{query}"


def _names(at: float, *layers: str) -> list[str]:
    return [f"{layer}/{LEVEL}/{int(at * 1e6) // (512 << LEVEL)}" for layer in layers]


def test_tiles_that_are_requested_together_are_those_that_are_requested_one_by_one(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    names = [*_names(now + 5, "spans", "memory", "events"), *_names(now + 600, "spans")]
    one_by_one = [member.get(f"/api/v1/clusters/{cluster.pk}/tiles/{name}").content for name in names]
    together = member.get(_together_url(cluster, *names), headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in together
    assert unpacked(together.content) == one_by_one


def test_tiles_that_are_requested_together_are_built_side_by_side_and_leave_a_connection_to_others(
    member: Client, cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(writer, cluster, now)
    both = threading.Barrier(2)

    def build(*what: Any) -> Tile:
        both.wait(60)
        with build_connection():  # the third
            return get_tile(*what)

    monkeypatch.setattr(requested_tiles, "get_tile", build)
    names = _names(now + 5, "spans", "memory", "prefixes", "events")
    assert len(unpacked(member.get(_together_url(cluster, *names)).content)) == 4


def test_one_tile_that_cannot_be_built_fails_its_request(
    member: Client, cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(writer, cluster, now)

    def build(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> Tile:
        if layer.name == "memory":
            raise psycopg.OperationalError("gone")
        return get_tile(connection, scope, layer, tile_id)

    monkeypatch.setattr(requested_tiles, "get_tile", build)
    member.raise_request_exception = False
    names = _names(now + 5, "spans", "memory", "prefixes")
    assert member.get(_together_url(cluster, *names)).status_code == 503
    assert member.get(_together_url(cluster, *names[:1])).status_code == 200


def test_tiles_that_are_requested_together_are_immutable_where_all_are_closed(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    closed, open_ = _names(now + 5, "spans", "memory"), _names(now + 1500, "spans")
    answered = member.get(_together_url(cluster, *closed, version=1))
    assert "immutable" in answered["Cache-Control"]
    again = member.get(_together_url(cluster, *closed), headers={"If-None-Match": answered["ETag"]})
    assert (again.status_code, again["Cache-Control"]) == (304, "private, no-cache")
    some_open = member.get(_together_url(cluster, *closed, *open_, version=1))
    assert some_open["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "of is ''"),
        ("spans", "of is 'spans'"),
        ("spans/1", "of is 'spans/1'"),
        ("spans/x/1", "of is 'spans/x/1'"),
        ("spans/16/1/2", "of is 'spans/16/1/2'"),
        ("<img src=x>/16/1", "<img src=x>"),
        ("spans/99/1", "level is 99"),
        ("spans/16/-1", "index -1"),
        (",".join(["spans/16/1"] * 13), "at most 12"),
    ],
)
def test_what_names_no_tiles_is_refused(member: Client, cluster: Cluster, names: str, message: str) -> None:
    refused = member.get(f"/api/v1/clusters/{cluster.pk}/tiles", {"of": names})
    assert refused.status_code == 422
    assert message in refused.json()["detail"]


def test_a_tile_that_was_merged_is_not_merged_again_until_a_record_is_added(
    member: Client, cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged: list[TileId] = []
    merge = builder.tile_from_children
    monkeypatch.setattr(builder, "tile_from_children", lambda *what: merged.append(what[1]) or merge(*what))
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 20_000))
    level = BASE_LEVEL + 3
    tile_id = TileId.at(level, seconds_to_microseconds(now + 5))
    url = f"/api/v1/clusters/{cluster.pk}/tiles/spans/{level}/{tile_id.index}"
    first, second, third = (member.get(url).content for _ in range(3))
    assert first == second == third
    assert merged.count(tile_id) == 1
    writer.write(Batch.of(cluster.pk, spans=[make_span("inc-3", now + 13, now + 19)]))
    assert "inc-3" in _blocks(member, url)["span"].list("key")
    assert merged.count(tile_id) == 2


def test_records_stored_after_the_end_of_a_cluster_are_in_its_last_tiles(
    member: Client, cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    fill(writer, cluster, now)
    Cluster.objects.update(ended=from_seconds(now + 20))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    before = member.get(url)
    assert "immutable" not in before["Cache-Control"]
    assert member.get(url, headers={"If-None-Match": before["ETag"]}).status_code == 304
    assert _cached_tiles(direct, cluster) == 1
    writer.write(Batch.of(cluster.pk, spans=[make_span("inc-3", now + 13, now + 19)]))
    assert "inc-3" in _blocks(member, url)["span"].list("key")


def test_a_cluster_that_resumes_after_its_end_has_complete_closed_tiles(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    Cluster.objects.update(ended=from_seconds(now + 20))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    _blocks(member, url)
    Cluster.objects.update(ended=None)
    writer.write(Batch.of(cluster.pk, spans=[make_span("inc-3", now + 30, now + 40)], committed=now + 45))
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    assert "inc-3" in _blocks(member, url)["span"].list("key")
    assert "immutable" in member.get(url)["Cache-Control"]


def test_a_late_span_increments_the_version(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=time.time() + 3600))
    url = _tile_url(cluster, "spans", now + 5, version=1)
    before = _blocks(member, url)["span"].rows
    writer.write(Batch.of(cluster.pk, spans=[make_span("inc-3", now + 1, now + 30, B)]))
    assert _blocks(member, url)["span"].rows == before + 1
    assert "immutable" not in member.get(url)["Cache-Control"]
    assert "immutable" in member.get(_tile_url(cluster, "spans", now + 5, version=2))["Cache-Control"]
