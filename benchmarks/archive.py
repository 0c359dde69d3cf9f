"""The archive: bytes a span, a sample, a task and a worker-hour beside those of the tables, and its speed.

A real run with the agent is multiplied to TASKS tasks, as by sizing.py. Then times and values are scattered,
in which the copies are alike: a compressor would find them. Prints one JSON line; the exit code is 1 if a
limit was missed.
"""

from __future__ import annotations

import logging
import resource
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import psycopg
from django.conf import settings

from benchmarks import sizing
from benchmarks.measuring.own_database import own_database
from benchmarks.measuring.results import Result, print_results
from observatory.clusters.models import Cluster, Project
from observatory.store.archive import catalogue
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect
from observatory.store.engines import choose
from observatory.store.schema.time_series import time_series
from observatory.store.times import from_seconds
from observatory.wire.rounding import ROUNDED, SIGNIFICANT_BITS

DATABASE = "observatory_archive"
LAST_BIT = "power(2, floor(log(2, abs(value)::numeric)) - %(bits)s + 1)"
"""of a value that was rounded"""
SCATTER = {
    "sample": f"""UPDATE sample SET
            time = time + ((hashtext(concat(worker_id, time)) & 1023) || ' ms')::interval,
            value = CASE
                WHEN metric = ANY(%(rounded)s) AND value <> 0
                    THEN round(value * (1 + random() / 100) / {LAST_BIT}) * {LAST_BIT}
                WHEN value > 1e6 THEN round(value * (1 + random() / 100) / 4096) * 4096
                WHEN value = round(value) THEN value
                WHEN value = round(value::numeric, 1) THEN round((value * (1 + random() / 100))::numeric, 1)
                ELSE value * (1 + random() / 100) END
        FROM series WHERE series.id = series_id""",
    "profile": """UPDATE profile SET
            time = time + ((hashtext(concat(worker_id, time)) & 1023) || ' ms')::interval""",
}
"""By table; rows of all others are moved by up to 20 ms each. Series and stacks of a worker keep their
common times, and values their precision: psutil's percents have one decimal, rates and means 13 bits"""
LIMITS = {"span": 12, "sample": 2, "task": 50, "worker-hour": 200_000}
MOST_MEMORY = 200 << 20
MEBIBYTE = 1 << 20


def scatter(connection: psycopg.Connection) -> None:
    for table in time_series():
        # by more than the start, so that no record stops before it
        end = f", {table.end} = {table.end} + 2 * moved" if table.end != table.time else ""
        connection.execute(
            SCATTER.get(table.name)
            or f"""UPDATE {table.name} SET {table.time} = {table.time} + moved{end}
                   FROM (SELECT ctid AS place, tableoid AS part, random() * interval '20 ms' AS moved
                         FROM {table.name}) AS each
                   WHERE {table.name}.ctid = place AND {table.name}.tableoid = part""",
            {"rounded": list(ROUNDED), "bits": SIGNIFICANT_BITS},
        )


def copied(connection: psycopg.Connection) -> float:
    """Seconds of COPYing all rows out."""
    began = time.perf_counter()
    for table in time_series():
        query = (
            f"COPY (SELECT * FROM {table.name} WHERE cluster_id = {sizing.CLUSTER}) TO STDOUT (FORMAT binary)"
        )
        with connection.cursor() as cursor, cursor.copy(query.encode()) as copy:
            for _ in copy:
                pass
    return time.perf_counter() - began


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def measure() -> dict[str, Any]:
    stored = sizing.store()
    start = from_seconds(0)
    project = Project.objects.create(name="sizing", slug="sizing")
    Cluster.objects.create(
        pk=sizing.CLUSTER,
        project=project,
        scheduler_id="Scheduler-1",
        name="sizing",
        started=start,
        last_seen=start,
        ended=start + timedelta(hours=1),
    )
    with connect() as connection, tempfile.TemporaryDirectory() as folder:
        engine = choose(connection).name
        sizes = sizing.sizes(connection, engine)
        scatter(connection)
        if engine == "timescale":
            sizing.compress(connection)
            sizes = sizing.sizes(connection, engine)
        rows = sizing.row_counts(connection)
        settings.ARCHIVE = folder
        before = memory()
        copy = copied(connection)
        began = time.perf_counter()
        archive_round(float("inf"))
        seconds = time.perf_counter() - began
        files = {table.name: 0 for table in time_series()}
        for piece in catalogue.pieces(connection):
            if piece.kind in files:
                files[piece.kind] += piece.bytes
        names = sum(piece.bytes for piece in catalogue.pieces(connection) if piece.kind not in files)
    return {
        "engine": engine,
        **stored,
        "rows": sum(rows.values()),
        "tables": _bytes(sizes, rows, stored),
        "archive": _bytes(files, rows, stored),
        "bytes_of_names": names,
        "copy_seconds": copy,
        "archive_seconds": seconds,
        "memory": memory() - before,
    }


def _bytes(size: dict[str, int], rows: dict[str, int], stored: dict[str, Any]) -> dict[str, float]:
    found = sizing.bytes_per(size, rows, stored)
    return {
        "span": found["per_span"],
        "sample": round(size["sample"] / rows["sample"], 2),
        "task": found["per_task"],
        "worker-hour": found["per_worker_hour"],
        **{f"row of {name}": value for name, value in found["per_row"].items()},
    }


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE):
        measured = measure()
    engine = "TimescaleDB, compressed" if measured["engine"] == "timescale" else "plain PostgreSQL"
    results = [
        Result(
            f"archived bytes per {what}{', with the agent' if what in ('task', 'worker-hour') else ''}",
            f"{measured['tables'][what]:,} on {engine}",
            measured["archive"][what],
            limit,
        )
        for what, limit in LIMITS.items()
    ]
    results += [
        Result(
            "archiving, times COPY of the same rows",
            "binary COPY",
            round(measured["archive_seconds"] / measured["copy_seconds"], 2),
            3.0,
        ),
        Result("memory of archiving, MiB", "before", measured["memory"] // MEBIBYTE, MOST_MEMORY // MEBIBYTE),
    ]
    return print_results("archive", results, ["dask", "distributed", "psycopg", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
