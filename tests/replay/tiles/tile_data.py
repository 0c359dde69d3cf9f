"""A cluster with records of every layer, its tiles, and a comparison of tiles with those made of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles.builder import BASE_LEVEL, get_tile
from observatory.replay.tiles.from_rows import series_of, tile_from_rows
from observatory.replay.tiles.layers import Layer, layers_for
from observatory.replay.tiles.levels import TileId
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.blocks import Block, decode
from observatory.wire.layers import LAYERS, OF_WORKERS
from observatory.wire.records import Action, Event, MetricType, Sample, Series, Span, WorkerSeen
from tests.replay.conftest import CLOSED

WORKERS = [f"tcp://127.0.0.1:{number}" for number in range(1, 71)]
"""in two bands"""
ALL_LAYERS = [layer for layer in layers_for(len(WORKERS)) if not layer.is_each]
PROFILE = Layer("profile")
SECONDS = 300
TOPICS = 3_000
STATES = ["live", "closed", "ended"]
LEVELS = range(BASE_LEVEL - 2, BASE_LEVEL + 9)


def fill(cluster: Cluster, writer: Writer, now: float) -> list[Span]:
    """Five minutes of tasks from a millisecond to a minute long, samples of every layer, profiles, events."""
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
    for layer, metrics in LAYERS.items():
        kind = MetricType.COUNTER if metrics[0].endswith("_total") else MetricType.GAUGE
        for number, worker in enumerate(("", WORKERS[0], WORKERS[1], WORKERS[-1])):
            of_cluster = Series(metrics[0], (("state", f"s{number}"),), "", kind)
            of_worker = Series(metrics[0], (("type", "x"),), worker, kind)
            series = of_worker if layer in OF_WORKERS else of_cluster
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
    writer.write(Batch.of(cluster.pk, seen, spans, samples, events, committed=now + SECONDS, rows=rows))
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


def finish(state: str, cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float) -> Cluster:
    """The cluster with its tiles built: partly closed (`live`), all `closed`, or left open by its end."""
    if state == "closed":
        writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    if state == "ended":
        Cluster.objects.update(ended=cluster.started)
        cluster.refresh_from_db()
    build_cluster(direct, cluster)
    return cluster


def level_of(direct: psycopg.Connection, cluster: Cluster, layer: Layer, level: int, now: float) -> list[Any]:
    """(tile_id, blocks by kind) of each tile of a level that the cluster lies in."""
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


ROUNDING = {"busy": {"rel": 1e-2, "abs": 1e-6}, "bin": {"rel": 5e-4, "abs": 0.1}}
"""of tiles, by kind of block: numbers are rounded on each level, samples to four digits of some hundreds"""

KEYS = {"busy": 4, "bin": 2, "event-count": 2}
"""columns that identify a row, of kinds whose other columns are numbers"""


def from_rows(connection: psycopg.Connection, scope: Scope, layer: Layer, tile_id: TileId) -> bytes:
    return tile_from_rows(connection, scope, layer, tile_id, series_of(connection, scope, layer))


def check_against_rows(
    built: Cluster, direct: psycopg.Connection, now: float, layer: Layer, level: int
) -> None:
    for tile_id, blocks in level_of(direct, built, layer, level, now):
        expected = {block.kind: block for block in decode(from_rows(direct, Scope(built), layer, tile_id))}
        assert set(blocks) - {"extent"} == set(expected)
        for kind, block in expected.items():
            assert json.dumps(dict(blocks[kind].meta)) == json.dumps(dict(block.meta))
            check_rows(blocks[kind], block, **ROUNDING.get(kind, {"rel": 1e-5, "abs": 1e-6}))


def check_rows(made: Block, expected: Block, rel: float, abs: float) -> None:
    """The rows are the same in some order, apart from the rounding of numbers that identify no row."""
    names = tuple(expected.columns)
    keys = names[: KEYS.get(expected.kind, len(names))]
    made_rows, expected_rows = (
        {row[: len(keys)]: row for row in rows(one, *names)} for one in (made, expected)
    )
    assert made_rows.keys() == expected_rows.keys()
    for place, name in enumerate(names[len(keys) :], len(keys)):
        found = np.array([made_rows[key][place] for key in expected_rows])
        others = np.array([row[place] for row in expected_rows.values()])
        allowed = np.maximum(rel * np.abs(others), abs) if others.dtype.kind == "f" else 0
        assert (np.abs(found - others) <= allowed).all(), name
