"""Disk usage of the store: bytes per span, task, worker-hour and log line.

A real run with the agent is multiplied to TASKS tasks and stored in a temporary database, on the server of
DATABASE_URL or else an embedded one. With TimescaleDB, chunks are compressed as they are after two days.
Prints one JSON line; the exit code is 1 if a limit was missed. docs/sizing.md has the results.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import psycopg

from benchmarks.measuring.django_setup import set_up

set_up()


from benchmarks.measuring.own_database import own_database  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.multiply import Recording, multiplied  # noqa: E402
from benchmarks.runs.recording import record  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.engines import choose  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.schema.time_series import time_series  # noqa: E402
from observatory.wire.kinds import stored_kinds  # noqa: E402

OF_AGENTS = [kind.name for kind in stored_kinds() if kind.name not in ("span", "sample", "event")]
DATABASE = "observatory_sizing"
CLUSTER = 1
TASKS = int(os.environ.get("TASKS", "200000"))
BYTES_PER_SPAN = {"plain": 120.0, "timescale": 12.0}


def store() -> dict[str, Any]:
    """Store the run; returns the numbers of its records."""
    run = Recording(record())
    start = float(int(time.time()) // 86_400 * 86_400 - 86_400)
    spans = samples = 0
    with Writer() as writer:
        for batch in multiplied(run, CLUSTER, TASKS, start, kinds=OF_AGENTS):
            spans += batch.count("span")
            samples += batch.count("sample")
            extent = writer.write(batch).extent
    hours = (extent.last - extent.first) / 3600
    return {
        "tasks": extent.tasks,
        "spans": spans,
        "samples": samples,
        "workers": extent.workers,
        "worker_hours": hours * extent.workers,
    }


def sizes(connection: psycopg.Connection, engine: str) -> dict[str, int]:
    """Return the bytes of each time-series table, including indexes."""
    query = (
        "SELECT hypertable_size(%s::regclass)"
        if engine == "timescale"
        else """SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint
                FROM pg_inherits WHERE inhparent = %s::regclass"""
    )
    found = {}
    for table in time_series():
        if engine == "plain":
            connection.execute(f"VACUUM ANALYZE {table.name}")
        row = connection.execute(query, [table.name]).fetchone()
        found[table.name] = int(row[0]) if row else 0
    return found


def compress(connection: psycopg.Connection) -> None:
    """Compress all chunks, as TimescaleDB's policy does after two days."""
    for table in time_series():
        connection.execute(f"SELECT compress_chunk(chunk) FROM show_chunks('{table.name}') chunk")
        connection.execute(f"VACUUM ANALYZE {table.name}")


def row_counts(connection: psycopg.Connection) -> dict[str, int]:
    """Return the number of rows of each time-series table."""
    counts = {}
    for table in time_series():
        row = connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()
        counts[table.name] = row[0] if row else 0
    return counts


def measure() -> dict[str, Any]:
    stored = store()
    with connect() as connection:
        engine = choose(connection).name
        rows = row_counts(connection)
        before = sizes(connection, engine)
        if engine == "timescale":
            compress(connection)
        after = sizes(connection, engine)
        server = connection.execute("SHOW server_version").fetchone()
        extension = connection.execute(
            "SELECT coalesce(max(extversion), '') FROM pg_extension WHERE extname = 'timescaledb'"
        ).fetchone()
    return {
        "engine": engine,
        **{name: round(value, 2) for name, value in stored.items()},
        "bytes": bytes_per(after, rows, stored),
        **({"bytes_before_compression": bytes_per(before, rows, stored)} if engine == "timescale" else {}),
        "postgresql": server[0] if server else "",
        "timescaledb": extension[0] if extension else "",
    }


def bytes_per(size: dict[str, int], rows: dict[str, int], stored: dict[str, Any]) -> dict[str, Any]:
    """Return bytes per unit; samples and profiles grow with worker-hours, the rest with tasks."""
    per_worker = size["sample"] + size["profile"]
    rest = sum(size.values()) - per_worker - size["log"] - size["event"]
    return {
        "per_row": {name: round(size[name] / rows[name], 1) for name in size if rows[name] >= 1000},
        "per_span": round(size["span"] / stored["spans"], 1),
        "per_task": round(rest / stored["tasks"], 1),
        "per_worker_hour": round(per_worker / stored["worker_hours"]),
        "per_log_line": round(size["log"] / rows["log"], 1) if rows["log"] else None,
    }


def main() -> int:
    logging.disable(logging.WARNING)
    with own_database(DATABASE):
        measured = measure()
    engine, bytes = measured["engine"], measured["bytes"]
    against = f"the limit, on {'TimescaleDB, compressed' if engine == 'timescale' else 'plain PostgreSQL'}"
    results = [
        Result("bytes per span at rest", against, bytes["per_span"], BYTES_PER_SPAN[engine]),
        Result("bytes per task at rest, with all records of the agent", against, bytes["per_task"]),
        Result("bytes per worker-hour at rest, with the agent", against, bytes["per_worker_hour"]),
    ]
    return print_results("sizing", results, ["dask", "distributed", "psycopg"], **measured)


if __name__ == "__main__":
    sys.exit(main())
