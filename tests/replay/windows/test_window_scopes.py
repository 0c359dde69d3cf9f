"""A public scope shows the records of its window [start, stop), and nothing from before or after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.cluster_info import cluster_info, lanes
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tiles.builder import get_tile
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries import timeline
from observatory.store.times import from_seconds, seconds_to_microseconds
from observatory.wire.blocks import decode
from observatory.wire.records import Action, Sample, Series, Span, WorkerSeen

WORKER = "tcp://127.0.0.1:1"
MEMORY = Series("observatory_worker_memory_bytes", (("type", "process"),), WORKER)
CPU = Series("observatory_worker_cpu_percent", (), WORKER)
STATES = Series("observatory_cluster_tasks", (("state", "memory"),))
LENGTH = 30.000_001


def _span(key: str, start: float, stop: float, thread: int = 1) -> Span:
    return Span(WORKER, thread, key, key, key, Action.COMPUTE, start, stop, 8, "int")


@pytest.fixture
def start(now: float) -> float:
    """A time with a fraction that no float has exactly."""
    return now + 60.123_457


@pytest.fixture
def scope(cluster: Cluster, writer: Writer, start: float) -> Scope:
    """A public window, with records right before its start and right at its stop."""
    stop = start + LENGTH
    spans = [
        _span("before", start - 1, start, thread=2),
        _span("inside", start, start + 1),
        _span("after", stop, stop + 1, thread=3),
    ]
    samples = [
        Sample(MEMORY, start - 0.5, 1e9),
        Sample(STATES, start - 0.5, 99),
        Sample(MEMORY, start + 1, 2e9),
        Sample(MEMORY, stop, 3e9),
        Sample(CPU, stop, 100),
    ]
    workers = [WorkerSeen(WORKER, "a", "127.0.0.1", 3, 4 * 10**9, start - 5)]
    writer.write(Batch.of(cluster.pk, workers, spans, samples, committed=stop + 100))
    return Scope(
        cluster, seconds_to_microseconds(start), seconds_to_microseconds(stop), is_public=True, name="nightly"
    )


def _state(connection: psycopg.Connection, scope: Scope, at: float) -> dict[str, Any]:
    with timeline.snapshot(connection):
        return state_at(connection, scope, seconds_to_microseconds(at))


def test_a_run_is_as_long_as_its_window_though_its_cluster_ended_before_the_client_ended_it(
    scope: Scope, start: float
) -> None:
    recorded = start + LENGTH + 1
    scope.cluster.ended = from_seconds(recorded)
    longer = replace(scope, start=scope.start - 20_000_000, stop=seconds_to_microseconds(recorded + 0.3))
    info = cluster_info(longer)
    assert (info["first"], info["ended"]) == pytest.approx((start - 20, recorded + 0.3), abs=1e-5)


def test_the_state_at_the_start_uses_no_samples_from_before_it(
    scope: Scope, start: float, direct: psycopg.Connection
) -> None:
    state = _state(direct, scope, start)
    assert state["tasks"] == {}
    assert [worker["memory"] for worker in state["workers"]] == [None]
    assert [worker["memory"] for worker in _state(direct, scope, start + 1)["workers"]] == [2e9]


def test_the_state_at_the_stop_has_nothing_that_starts_then(
    scope: Scope, start: float, direct: psycopg.Connection
) -> None:
    for at in (start + LENGTH, start + LENGTH - 4e-7, start + LENGTH + 50):
        state = _state(direct, scope, at)
        assert [(worker["running"], worker["memory"], worker["cpu"]) for worker in state["workers"]] == [
            (0, None, None)
        ]
        assert [(row["name"], row["done"]) for row in state["progress"]] == [("inside", 1)]


def test_no_tile_has_a_span_that_starts_at_the_stop_or_stopped_at_the_start(
    scope: Scope, direct: psycopg.Connection
) -> None:
    for layer in (Layer("spans"), Layer("prefixes")):
        for level in (10, 12, 16, 17, 20, 36):
            for edge in (scope.start - 1, scope.start, scope.stop - 1, scope.stop):
                tile_id = TileId.at(level, edge)
                for block in decode(get_tile(direct, scope, layer, tile_id).body):
                    texts = block.list("key") if "key" in block.columns else []
                    assert set(texts) <= {"inside"}, (layer, level)
                    if block.kind == "busy":
                        assert len(set(block.list("prefix"))) <= 1


def test_a_workers_later_status_is_hidden(
    scope: Scope, start: float, writer: Writer, direct: psycopg.Connection
) -> None:
    paused = WorkerSeen(WORKER, "a", "127.0.0.1", 3, 4 * 10**9, start + LENGTH + 5, status="paused")
    writer.write(Batch.of(scope.cluster.pk, [paused]))
    assert [worker["status"] for worker in _state(direct, scope, start + 2)["workers"]] == ["running"]
    assert [worker["status"] for worker in lanes(scope)["workers"]] == ["running"]
    assert [worker["status"] for worker in _state(direct, Scope(scope.cluster), start + 2)["workers"]] == [
        "paused"
    ]


def test_lanes_and_series_without_records_in_the_window_are_left_out(
    scope: Scope, direct: psycopg.Connection
) -> None:
    shown = lanes(scope)
    assert [lane["thread"] for lane in shown["lanes"]] == [1]
    assert [prefix["name"] for prefix in shown["prefixes"]] == ["inside"]
    assert {
        layer: [item["metric"] for item in items] for layer, items in shown["series"].items() if items
    } == {"memory": ["observatory_worker_memory_bytes"]}
    assert len(lanes(Scope(scope.cluster))["lanes"]) == 3
