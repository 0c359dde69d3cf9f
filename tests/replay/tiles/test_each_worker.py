"""Tiles with one value of each worker agree with the rows on each level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import numpy as np
import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles import builder
from observatory.replay.tiles.builder import BASE_LEVEL, get_tile
from observatory.replay.tiles.each_worker import WIDE_BINS, WorkerBusy, merge_busy
from observatory.replay.tiles.from_rows import has_few_rows
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.blocks import decode
from observatory.wire.records import Action, MetricType, Sample, Series, Span, Status, WorkerSeen
from tests.replay.committed import direct
from tests.replay.conftest import make_cluster
from tests.replay.tiles.tile_data import WORKERS, level_of, rows

__all__ = ["direct"]

SECONDS = 200
LEVELS = range(BASE_LEVEL - 2, BASE_LEVEL + 9)
MEMORY, CPU = "observatory_worker_memory_bytes", "observatory_worker_cpu_percent"
RATIO, CONTENDED = "observatory_worker_gil_contention_ratio", "dask_worker_gil_contention_seconds_total"
TASK = 0.4
"""seconds that a task of each worker takes, and a slow one's twice as many"""
SLOW = WORKERS[-1]
THREE_DIGITS = 2e-3


@pytest.fixture(scope="module")
def cluster(committed: None, now: float) -> Cluster:
    return make_cluster(now, "Scheduler-each")


@pytest.fixture(scope="module")
def spans(cluster: Cluster, direct: psycopg.Connection, now: float) -> list[Span]:
    """Each worker computes one prefix, and now and then a shorter task of another one; some err."""
    random = Random(7)
    made = []
    for number, worker in enumerate(WORKERS):
        for second in range(0, SECONDS - 10, 2):
            length = TASK * (2 if worker == SLOW else 1)
            start = round(now + second + random.random() / 2, 6)
            status = Status.ERROR if (number + second) % 50 == 0 else Status.OK
            made.append(span(worker, f"load-{number}-{second}", "load", start, start + length, status))
            if second % 20 == 0:
                made.append(span(worker, f"other-{number}-{second}", "other", start + 1, start + 1.1))
        made.append(span(worker, f"moved-{number}", "load", now, now + 50, action=Action.TRANSFER))
    seen = [WorkerSeen(worker, "", "h", 2, 1000, now) for worker in WORKERS]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, seen, made, list(samples(now)), committed=now + SECONDS))
    with pytest.MonkeyPatch.context() as patch:
        each = [Layer.parse(f"{layer}.each") for layer in ("spans", "memory", "cpu", "gil")]
        patch.setattr("observatory.replay.tasks.built_layers", lambda workers: each)
        build_cluster(direct, cluster)
    return made


def span(
    worker: str,
    key: str,
    prefix: str,
    start: float,
    stop: float,
    status: Status = Status.OK,
    action: Action = Action.COMPUTE,
) -> Span:
    return Span(worker, 1, key, prefix, prefix, action, start, round(stop, 6), 8, "int", status)


def samples(now: float) -> Iterator[Sample]:
    for number, worker in enumerate(WORKERS):
        for second in range(SECONDS):
            time = now + second + 0.5
            for kind, factor in (("process", 1), ("managed", 1000)):
                yield Sample(Series(MEMORY, (("type", kind),), worker), time, factor * (number + second))
            yield Sample(Series(CPU, (), worker), time, float(number))
            yield Sample(Series(RATIO, (), worker), time, 0.9)
            if number % 2:
                yield Sample(Series(CONTENDED, (), worker, MetricType.COUNTER), time, second * 0.25)


def ids(direct: psycopg.Connection, cluster: Cluster) -> dict[str, int]:
    found = direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [cluster.pk])
    return dict(found.fetchall())


def test_on_each_level_a_worker_computed_as_long_and_erred_as_often_as_its_spans_say(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = ids(direct, cluster)
    expected: dict[int, list[float]] = defaultdict(lambda: [0.0, 0])
    for one in spans:
        if one.action == Action.COMPUTE:
            expected[workers[one.worker]][0] += one.stop - one.start
            expected[workers[one.worker]][1] += one.status == Status.ERROR
    assert sum(errors for _, errors in expected.values()) > 10
    for level in LEVELS:
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0])
        for _, blocks in level_of(direct, cluster, Layer.parse("spans.each"), level, now):
            names = ("worker", "bin", "busy", "errors")
            for worker, bin, busy, errors in rows(blocks.get("worker-busy"), *names):
                assert 0 <= bin < WIDE_BINS
                sums[worker][0] += busy
                sums[worker][1] += errors
        assert sums.keys() == expected.keys()
        for worker, (busy, errors) in expected.items():
            assert sums[worker] == [pytest.approx(busy, rel=THREE_DIGITS), errors], level


def test_on_each_level_the_prefix_of_most_time_has_the_mean_duration_of_its_tasks(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = ids(direct, cluster)
    [load] = direct.execute(
        "SELECT id FROM prefix WHERE cluster_id = %s AND name = 'load'", [cluster.pk]
    ).fetchone() or [0]
    for level in range(BASE_LEVEL + 4, BASE_LEVEL + 9):  # bins of several tasks: load takes longest in all
        for _, blocks in level_of(direct, cluster, Layer.parse("spans.each"), level, now):
            names = ("worker", "prefix", "seconds", "tasks", "longest")
            for worker, prefix, seconds, tasks, longest in rows(blocks["worker-busy"], *names):
                assert prefix == load
                usual = 2 * TASK if worker == workers[SLOW] else TASK
                assert seconds / tasks == pytest.approx(usual, rel=2 * THREE_DIGITS)
                assert longest == pytest.approx(usual, rel=THREE_DIGITS)


@pytest.mark.parametrize("layer", ["memory", "cpu", "gil"])
def test_on_each_level_the_mean_of_a_worker_is_that_of_its_samples(
    layer: str, spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = {id: WORKERS.index(address) for address, id in ids(direct, cluster).items()}
    for level in LEVELS:
        for tile_id, blocks in level_of(direct, cluster, Layer.parse(f"{layer}.each"), level, now):
            found = rows(blocks.get("worker-value"), "worker", "bin", "mean", "count")
            assert len(found) == len({row[:2] for row in found})
            for worker, bin, mean, count in found:
                number = workers[worker]
                times = _seconds_in(tile_id, bin, now)
                if layer == "gil" and number % 2:
                    assert mean == pytest.approx(0.25, rel=THREE_DIGITS), "the counter's rate"
                    continue
                assert count == len(times)
                values = {"memory": number + sum(times) / len(times), "cpu": number, "gil": 0.9}
                assert mean == pytest.approx(values[layer], rel=THREE_DIGITS)


@cache
def _seconds_in(tile_id: TileId, bin: int, now: float) -> list[int]:
    """The seconds whose samples are in a bin."""
    start = tile_id.start / 1e6 + bin * 8 * tile_id.bin_width / 1e6
    stop = start + 8 * tile_id.bin_width / 1e6
    return [at for at in range(SECONDS) if start <= now + at + 0.5 < stop]


def test_a_window_has_its_own_part_of_a_bin(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    scope = Scope(cluster, round((now + 11) * 1e6), round((now + 31) * 1e6))
    tile_id = TileId.at(BASE_LEVEL + 6, round(now * 1e6))
    body = get_tile(direct, scope, Layer.parse("spans.each"), tile_id).body
    [block] = [block for block in decode(body) if block.kind == "worker-busy"]
    seconds = sum(block.list("busy"))
    inside = [
        min(one.stop, now + 31) - max(one.start, now + 11)
        for one in spans
        if one.action == Action.COMPUTE and one.start < now + 31 and one.stop > now + 11
    ]
    assert seconds == pytest.approx(sum(inside), rel=THREE_DIGITS)


def test_the_rows_of_an_open_tile_are_counted_once_for_each_limit(
    cluster: Cluster,
    spans: list[Span],
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[int] = []

    def count(*where: Any) -> bool:
        limits.append(where[-1])
        return has_few_rows(*where)

    monkeypatch.setattr(builder, "has_few_rows", count)
    level = BASE_LEVEL + 4
    open_ = TileId.at(level, round((now + SECONDS) * 1e6))
    monkeypatch.setattr(builder, "FEW_ROWS", 10)
    for layer in ("spans.each", "memory.each"):
        get_tile(direct, Scope(cluster), Layer.parse(layer), open_)
        assert limits == [10, builder.DIRECT_ROWS]
        limits.clear()


def test_of_a_small_cluster_there_are_none(direct: psycopg.Connection, now: float, committed: None) -> None:
    small = make_cluster(now, "Scheduler-small")
    with Writer() as writer:
        writer.write(Batch.of(small.pk, [WorkerSeen("tcp://h:1", "", "h", 2, 0, now)], committed=now))
    tile_id = TileId.at(BASE_LEVEL, round(now * 1e6))
    body = get_tile(direct, Scope(small), Layer.parse("memory.each"), tile_id).body
    assert [block.kind for block in decode(body) if block.rows] == []


def test_the_prefix_with_most_seconds_is_kept_and_all_are_busy_time() -> None:
    def rows(prefix: int, seconds: float, tasks: float, longest: float, errors: int) -> WorkerBusy:
        columns = ([1], [5], [seconds], [prefix], [seconds], [tasks], [longest], [errors])
        return WorkerBusy(*map(np.array, columns))

    found = merge_busy([rows(7, 3.0, 2.0, 9.0, 1), rows(8, 2.0, 4.0, 0.5, 0), rows(8, 2.0, 4.0, 0.75, 1)])
    columns = ("busy", "prefix", "seconds", "tasks", "longest", "errors")
    assert [getattr(found, name).tolist() for name in columns] == [[7], [8], [4], [8], [0.75], [2]]
