"""Long series in the archive: 30 days of SERIES series from kept tiles, and all samples of one day.

Prints one JSON line; the exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from django.conf import settings

from benchmarks.measuring.django_setup import set_up

set_up()

from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.reading_archive.leaving import leave_tables  # noqa: E402
from observatory.clusters.models import Cluster, Project  # noqa: E402
from observatory.replay.scope import Scope  # noqa: E402
from observatory.replay.tasks import build_cluster  # noqa: E402
from observatory.replay.tiles.builder import covering_tile_ids, get_tile  # noqa: E402
from observatory.replay.tiles.layers import Layer  # noqa: E402
from observatory.store.archive import presence  # noqa: E402
from observatory.store.archive.scans.conditions import Condition, OneOf  # noqa: E402
from observatory.store.connection import connect, connect_reader  # noqa: E402
from observatory.store.ingest.batches.batch import Batch  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.queries.alerts.series import SeriesWindow, series_within  # noqa: E402
from observatory.store.queries.extents import read_extent  # noqa: E402
from observatory.store.queries.timeline import snapshot  # noqa: E402
from observatory.store.reading.archived_samples import archived_samples  # noqa: E402
from observatory.store.times import from_seconds, to_microseconds  # noqa: E402
from observatory.wire.layers import BAND  # noqa: E402
from observatory.wire.records import Sample, Series, WorkerSeen  # noqa: E402

DATABASE = "observatory_archive_series"
SERIES = int(os.environ.get("SERIES", "1000"))
DAYS, DAY = 30, 86_400
SPARSE, DENSE = 600, 10
"""seconds between two samples of a series: of the 30 days, and of the day that is read raw"""
METRIC = "observatory_worker_memory_bytes"
LONG, RAW = 2.0, 5.0
"""seconds"""


def make_series(name: str, seconds: int, step: int) -> int:
    """An ended cluster with SERIES series of a metric, one sample each `step` seconds, and its tiles."""

    start = float(int(time.time()) // DAY * DAY - seconds - DAY)
    cluster = Cluster.objects.create(
        project=Project.objects.get(),
        scheduler_id=f"benchmark-{name}",
        name=name,
        started=from_seconds(start),
        last_seen=from_seconds(start + seconds),
        identity_interval=step,
        metrics_interval=step,
    )
    addresses = [f"tcp://10.1.{number // 250}.{number % 250}:4000" for number in range(SERIES)]
    series = [Series(METRIC, (("type", "process"),), address) for address in addresses]
    seen = [
        WorkerSeen(each, f"w{place}", "h", 1, 2**33, start, "running", {}, {})
        for place, each in enumerate(addresses)
    ]
    chance = random.Random(3)
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, workers=seen))
        for first in range(0, seconds, 50 * step):
            times = [start + at for at in range(first, min(first + 50 * step, seconds), step)]
            samples = [
                Sample(each, at, chance.random() * 1e9 // 4096 * 4096) for at in times for each in series
            ]
            writer.write(Batch.of(cluster.pk, samples=samples, committed=times[-1] + step))
    Cluster.objects.filter(pk=cluster.pk).update(ended=from_seconds(start + seconds))
    cluster.refresh_from_db()
    with connect() as connection:
        build_cluster(connection, cluster)
    return int(cluster.pk)


def read_tiles(cluster: int) -> float:
    """Seconds of reading the tiles of memory of all of a cluster's time, as its page does."""

    scope = Scope(Cluster.objects.get(pk=cluster))
    with connect() as connection:
        removed = presence.removed_kinds(connection, cluster)
    with connect_reader() as reader:
        began = time.perf_counter()
        with snapshot(reader):
            extent = read_extent(reader, cluster)
            assert extent is not None
            for tile in covering_tile_ids(extent.first, extent.last):
                for band in range(-(-SERIES // BAND)):
                    assert get_tile(reader, scope, Layer("memory", band), tile)
        seconds = time.perf_counter() - began
    with connect() as connection:
        assert presence.removed_kinds(connection, cluster) == removed, "rows were brought back for tiles"
    return seconds


def read_raw(cluster: int) -> tuple[float, int]:
    """Seconds of reading all samples of a day in files, and their number."""

    found = Cluster.objects.get(pk=cluster)
    assert found.ended
    start, stop = to_microseconds(found.started), to_microseconds(found.ended)
    condition = Condition((OneOf(("metric",), frozenset({METRIC})),), found.started, found.ended)
    number = 0
    began = time.perf_counter()
    with connect_reader() as reader, snapshot(reader):
        series = series_within(reader, {cluster: (start, stop)}, [METRIC])[cluster]
        with archived_samples(reader, cluster, condition) as samples:
            assert samples is not None, "they are in their table"
            hour = 3_600_000_000
            for first in range(start, stop, hour):
                windows = [SeriesWindow(each.id, cluster, first, min(first + hour, stop)) for each in series]
                number += len(samples(reader, windows)["value"])
    return time.perf_counter() - began, number


def measure() -> dict[str, Any]:
    Project.objects.create(name="Series", slug="series")
    long = make_series("30 days", DAYS * DAY, SPARSE)
    leave_tables(long)
    tiles = read_tiles(long)
    day = make_series("a day", DAY, DENSE)
    leave_tables(day)
    seconds, number = read_raw(day)
    return {"long_s": tiles, "raw_s": seconds, "raw_samples": number}


def results(measured: dict[str, Any]) -> Iterator[Result]:
    yield Result(
        f"{DAYS} days of {SERIES:,} archived series from kept tiles (s)",
        "the limit",
        measured["long_s"],
        LONG,
    )
    yield Result(
        f"a day of {SERIES:,} archived series raw, a sample each {DENSE} s (s)",
        "the limit",
        measured["raw_s"],
        RAW,
    )


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE), tempfile.TemporaryDirectory() as folder:
        settings.ARCHIVE = folder
        measured = measure()
    return print_results("archive_series", results(measured), ["psycopg", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
