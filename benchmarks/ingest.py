"""How fast the writer stores real records: against a bare binary COPY of the same rows, and against Dask.

Records a LocalCluster's event stream and /metrics, then stores the recorded batches round by round, each
round also by psycopg's own `write_row` into the same tables (ids and times ready made, in as many
transactions). Prints one JSON line; exit code 1 when a ratio is missed. DATABASE_URL names the server, else
the embedded one is started: the rows go into a database of their own that is dropped in the end.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import distributed
import django
import psycopg
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
if not os.environ.get("DATABASE_URL"):
    from tests import services

    services.start()
    atexit.register(services.stop)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
django.setup()

from django.db import connection as django_connection  # noqa: E402

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from observatory.collect.scheduler.identity import Problems  # noqa: E402
from observatory.collect.stream.messages import read_message  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.engines import choose  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.maintenance.retention import delete_cluster  # noqa: E402
from observatory.wire.records import Batch, Sample, Series, Span, WorkerSeen  # noqa: E402

DATABASE = "observatory_benchmark"
WRITTEN, BARE = 1, 2
"""clusters"""
TASKS = 10_000
SCRAPES = 40
ROUNDS = 9
FLUSH = 1.0
"""seconds of recording in a batch of spans"""
RATIO_TO_COPY = 0.6
RATIO_TO_DASK = 20.0

SPAN_COLUMNS = (
    "start, stop, nbytes, cluster_id, lane_id, prefix_id, group_id, typename_id, action, status, key_rest"
)
SPAN_TYPES = ["timestamptz", "timestamptz", "int8", *["int4"] * 5, "int2", "int2", "text"]
SAMPLE_COLUMNS = "time, value, series_id, cluster_id"
SAMPLE_TYPES = ["timestamptz", "float8", "int4", "int4"]


def increment(number: int) -> int:
    return number + 1


def tasks_per_second(client: distributed.Client) -> float:
    """What a saturated scheduler gets done of the cheapest tasks."""
    start = time.perf_counter()
    client.gather(client.map(increment, range(TASKS), pure=False))
    return TASKS / (time.perf_counter() - start)


def seen(client: distributed.Client) -> list[WorkerSeen]:
    now = time.time() - 3600
    workers = client.scheduler_info(n_workers=-1)["workers"].items()
    return [
        WorkerSeen(
            address, str(worker["name"]), worker["host"], worker["nthreads"], worker["memory_limit"], now
        )
        for address, worker in workers
    ]


async def record(
    cluster: distributed.LocalCluster, client: distributed.Client
) -> tuple[list[Batch], list[Batch]]:
    """Batches of spans, a second each, and of samples, a scrape each."""
    base = cluster.dashboard_link.removesuffix("/status")
    spans: list[Batch] = []
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(base.replace("http", "ws") + "/eventstream", max_msg_size=0) as socket:
            working = asyncio.create_task(asyncio.to_thread(tasks_per_second, client))
            seen, flushed = 0, 0.0
            while seen < TASKS:
                message = await asyncio.wait_for(socket.receive(), 30)
                records = read_message(message.data, time.time(), Problems("benchmark"))
                if time.monotonic() - flushed > FLUSH:
                    spans.append(Batch(WRITTEN))
                    flushed = time.monotonic()
                spans[-1].spans += [record for record in records if isinstance(record, Span)]
                seen = sum(len(batch.spans) for batch in spans)
            await working
        samples = await scrape(session, base, client.scheduler_info(n_workers=-1)["workers"])
    return [batch for batch in spans if batch.spans], samples


async def scrape(session: aiohttp.ClientSession, base: str, workers: dict[str, Any]) -> list[Batch]:
    """SCRAPES scrapes of the scheduler and every worker, stretched to a usual scrape's 5 s apart."""
    known: dict[tuple[Any, ...], Series] = {}
    batches: list[Batch] = []
    pages = {"": f"{base}/metrics"}
    for address, worker in workers.items():
        pages[address] = f"http://{worker['host']}:{worker['services']['dashboard']}/metrics"
    start = time.time() - 5.0 * SCRAPES
    for number in range(SCRAPES):
        batch = Batch(WRITTEN)
        for worker, url in pages.items():
            async with session.get(url) as answer:
                page = await answer.text()
            for family in text_string_to_metric_families(page):
                for name, labels, value, *_ in family.samples:
                    identifier = (name, tuple(sorted(labels.items())), worker)
                    series = known.setdefault(identifier, Series(*identifier))
                    batch.samples.append(Sample(series, start + 5.0 * number, value))
        batches.append(batch)
    return batches


def stored_rows(query: str, cluster: int, sizes: list[int]) -> list[list[tuple[Any, ...]]]:
    """The rows that the writer made of its batches, for the other cluster, batch by batch."""
    with connect() as connection:
        rows = iter(connection.execute(query, [cluster]).fetchall())
    return [[next(rows) for _ in range(size)] for size in sizes]


def copy_bare(
    connection: psycopg.Connection, statement: str, types: list[str], batches: list[list[tuple[Any, ...]]]
) -> None:
    for rows in batches:
        with connection.transaction(), connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(
    table: str, columns: str, types: list[str], workers: list[WorkerSeen], batches: list[Batch]
) -> dict[str, Any]:
    """Rows per second of both ways, and the median of the rounds' ratios."""
    delete_cluster(WRITTEN)
    sizes = [len(batch) for batch in batches]
    names = columns.replace("cluster_id", f"{BARE}")
    statement = f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)"
    written: list[float] = []
    bare: list[float] = []
    with Writer() as writer, connect() as connection:

        def write() -> None:
            for batch in batches:
                writer.write(batch)

        # the workers are seen first and the names interned, as they are but for a cluster's first seconds
        writer.write(Batch(WRITTEN, workers=workers))
        write()
        rows = stored_rows(f"SELECT {names} FROM {table} WHERE cluster_id = %s", WRITTEN, sizes)
        for number in range(ROUNDS):
            both = [(written, write), (bare, lambda: copy_bare(connection, statement, types, rows))]
            for times, action in both if number % 2 else reversed(both):
                times.append(seconds(action))
        connection.execute(f"DELETE FROM {table} WHERE cluster_id = {BARE}")
    delete_cluster(WRITTEN)
    total = sum(sizes)
    return {
        "rows": total,
        "batches": len(batches),
        "written_per_second": round(total / statistics.median(written)),
        "bare_copy_per_second": round(total / statistics.median(bare)),
        "ratio_to_bare_copy": round(statistics.median(b / w for b, w in zip(bare, written, strict=True)), 2),
    }


def merged(batches: list[Batch]) -> list[Batch]:
    """All records in one batch: what a backlog is stored in."""
    spans = [span for batch in batches for span in batch.spans]
    samples = [sample for batch in batches for sample in batch.samples]
    return [replace(batches[0], spans=spans, samples=samples)]


def database() -> dict[str, str]:
    with connect() as connection:
        (server,) = connection.execute("SHOW server_version").fetchone() or ("",)
        engine = choose(connection).name
        (timescaledb,) = connection.execute(
            "SELECT coalesce(max(extversion), '') FROM pg_extension WHERE extname = 'timescaledb'"
        ).fetchone() or ("",)
    return {
        "postgresql": server,
        "engine": engine,
        "timescaledb": timescaledb,
        "psycopg_implementation": psycopg.pq.__impl__,
    }


def measure() -> tuple[list[Result], dict[str, Any]]:
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = seen(client)
        tasks_per_second(client)
        dask = max(tasks_per_second(client) for _ in range(2))
        spans, samples = asyncio.run(record(cluster, client))
    measured = {
        "spans": compare("span", SPAN_COLUMNS, SPAN_TYPES, workers, spans),
        "spans_in_one_batch": compare("span", SPAN_COLUMNS, SPAN_TYPES, workers, merged(spans)),
        "samples": compare("sample", SAMPLE_COLUMNS, SAMPLE_TYPES, workers, samples),
        "samples_in_one_batch": compare("sample", SAMPLE_COLUMNS, SAMPLE_TYPES, workers, merged(samples)),
    }
    ratio_to_dask = measured["spans"]["written_per_second"] / dask
    results = [
        Result(
            "spans stored a second",
            "tasks a second of a saturated scheduler",
            round(ratio_to_dask, 1),
            RATIO_TO_DASK,
            True,
        ),
        *(
            Result(
                f"{kind} stored a second",
                "a bare binary COPY of the same rows",
                measured[kind]["ratio_to_bare_copy"],
                RATIO_TO_COPY,
                True,
            )
            for kind in ("spans", "samples")
        ),
    ]
    return results, {**measured, "dask_tasks_per_second": round(dask)}


def main() -> int:
    django_connection.settings_dict["TEST"]["NAME"] = DATABASE
    django_connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        results, measured = measure()
        store = database()
    finally:
        django_connection.creation.destroy_test_db(DATABASE, verbosity=0)
    return print_results("ingest", results, ("psycopg", "numpy", "distributed"), **measured, store=store)


if __name__ == "__main__":
    sys.exit(main())
