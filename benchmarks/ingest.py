"""How fast the writer stores real records: against a bare binary COPY of the same rows, and against Dask.

Scraped: the spans of a LocalCluster's event stream and the samples of its /metrics, from the collector's
queue to the commit, in batches of two sizes. A collector that keeps up writes what came since the last
flush: some hundred records, for which a transaction costs more than the rows do. One that doesn't keep up
writes batches as large as its queue makes them: the limit is for these. Agents': the records of a run with
the agent, from the bytes of their blocks to the commit, each kind alone against a COPY of its rows, and all
of them together.

The peer is psycopg's own `write_row` into the same tables and indexes, of the same batches, each in a
transaction of its own. Its ids, times and JSON are ready made, outside of the measured time. The writer makes
them within it, and updates the cluster's extent. States the CPU time of the web process per span, too.

Prints one JSON line; exit code 1 if a ratio is missed. DATABASE_URL names the server, else the embedded one
is started. The rows go into a database of their own that is dropped in the end.
"""

from __future__ import annotations

import asyncio
import gzip
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import distributed
import psycopg
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.measuring.django_setup import set_up

set_up()

from django.db import connection as django_connection  # noqa: E402
from django.test import Client  # noqa: E402

from benchmarks.ingesting.bare_copy import BareCopy  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.runs.recording import record_bodies  # noqa: E402
from observatory.clusters.models import Project  # noqa: E402
from observatory.clusters.tokens import ingest_tokens  # noqa: E402
from observatory.collect.agents.batch import batch_of  # noqa: E402
from observatory.collect.scheduler.identity import Problems  # noqa: E402
from observatory.collect.stream.messages import read_message  # noqa: E402
from observatory.store.connection import connect  # noqa: E402
from observatory.store.engines import choose  # noqa: E402
from observatory.store.ingest.batches.batch import Batch, BatchBuilder  # noqa: E402
from observatory.store.ingest.writer import Writer  # noqa: E402
from observatory.store.maintenance.retention import delete_cluster  # noqa: E402
from observatory.wire.batches import decode_batch, encode_head  # noqa: E402
from observatory.wire.blocks import Block, encode  # noqa: E402
from observatory.wire.head import Head  # noqa: E402
from observatory.wire.kinds import KINDS  # noqa: E402
from observatory.wire.records import Sample, Series, Span, WorkerSeen  # noqa: E402

DATABASE = "observatory_benchmark"
WRITTEN, BARE = 1, 2
"""clusters"""
TASKS = 10_000
SCRAPES = 40
ROUNDS, ROUNDS_OF_AGENT = 9, 5
FLUSH = 1.0
"""seconds of recording in a batch of spans"""
RATIO_TO_COPY = 0.8
RATIO_OF_AGENT = 0.6
RATIO_TO_DASK = 20.0


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
) -> tuple[list[list[Span]], list[list[Sample]]]:
    """Spans, a second each, and samples, a scrape each."""
    base = cluster.dashboard_link.removesuffix("/status")
    spans: list[list[Span]] = []
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(base.replace("http", "ws") + "/eventstream", max_msg_size=0) as socket:
            working = asyncio.create_task(asyncio.to_thread(tasks_per_second, client))
            seen, flushed = 0, 0.0
            while seen < TASKS:
                message = await asyncio.wait_for(socket.receive(), 30)
                records = read_message(message.data, time.time(), Problems("benchmark"))
                if time.monotonic() - flushed > FLUSH:
                    spans.append([])
                    flushed = time.monotonic()
                spans[-1] += [record for record in records if isinstance(record, Span)]
                seen = sum(map(len, spans))
            await working
        samples = await scrape(session, base, client.scheduler_info(n_workers=-1)["workers"])
    return [batch for batch in spans if batch], samples


async def scrape(session: aiohttp.ClientSession, base: str, workers: dict[str, Any]) -> list[list[Sample]]:
    """SCRAPES scrapes of the scheduler and every worker, stretched to a usual scrape's 5 s apart."""
    known: dict[tuple[Any, ...], Series] = {}
    scrapes: list[list[Sample]] = []
    pages = {"": f"{base}/metrics"}
    for address, worker in workers.items():
        pages[address] = f"http://{worker['host']}:{worker['services']['dashboard']}/metrics"
    start = time.time() - 5.0 * SCRAPES
    for number in range(SCRAPES):
        samples: list[Sample] = []
        for worker, url in pages.items():
            async with session.get(url) as answer:
                page = await answer.text()
            for family in text_string_to_metric_families(page):
                for name, labels, value, *_ in family.samples:
                    identifier = (name, tuple(sorted(labels.items())), worker)
                    series = known.setdefault(identifier, Series(*identifier))
                    samples.append(Sample(series, start + 5.0 * number, value))
        scrapes.append(samples)
    return scrapes


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def pairwise(
    prepare: Callable[[], Callable[[], None]], copy: Callable[[], None], rows: int, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Rows per second of both ways, and the median of the rounds' ratios. `prepare` returns what writes."""
    written: list[float] = []
    bare: list[float] = []
    for number in range(rounds):
        both = [(written, prepare()), (bare, copy)]
        for times, action in both if number % 2 else reversed(both):
            times.append(seconds(action))
    return {
        "rows": rows,
        "written_per_second": round(rows / statistics.median(written)),
        "bare_copy_per_second": round(rows / statistics.median(bare)),
        "ratio_to_bare_copy": round(statistics.median(b / w for b, w in zip(bare, written, strict=True)), 2),
    }


def queued(batches: Sequence[Sequence[Span | Sample]]) -> list[BatchBuilder]:
    """The batches as the collector's queue holds them."""
    builders = []
    for records in batches:
        builder = BatchBuilder(WRITTEN)
        for record in records:
            builder.add(record)
        builders.append(builder)
    return builders


def compare_scraped(
    kind: str, workers: list[WorkerSeen], batches: Sequence[Sequence[Span | Sample]]
) -> dict[str, Any]:
    """Records of the collector: from its queue to the commit."""
    delete_cluster(WRITTEN)
    with Writer() as writer, connect() as connection:

        def write(queue: list[BatchBuilder]) -> None:
            for builder in queue:
                writer.write(builder.batch)

        # the workers are seen first and the names interned, as they are but for a cluster's first seconds
        writer.write(Batch.of(WRITTEN, workers=workers))
        write(queued(batches))
        bare = BareCopy(connection, kind, WRITTEN, BARE, [len(batch) for batch in batches])
        found = pairwise(lambda: partial(write, queued(batches)), bare.copy, sum(map(len, batches)))
    delete_cluster(WRITTEN)
    delete_rows(kind)
    return {**found, "batches": len(batches)}


class AgentsBatches:
    """An agent's batches, which can be stored again and again: each time under new numbers.

    They have the blocks of some kinds only, so that those of others are not decoded.
    """

    def __init__(self, bodies: Sequence[bytes], kinds: Collection[str] = KINDS) -> None:
        decoded = [decode_batch(gzip.decompress(body)) for body in bodies]
        some = [(head, {kind: block for kind, block in of.items() if kind in kinds}) for head, of in decoded]
        self.bodies = [encoded(head, blocks) for head, blocks in some if blocks]
        self.numbers = count(1)
        self.agent = uuid4().hex

    def decoded(self) -> Iterator[tuple[Head, dict[str, Block]]]:
        for head, blocks in map(decode_batch, self.bodies):
            yield replace(head, agent=self.agent, sequence=next(self.numbers), is_last=False), blocks

    def write(self, writer: Writer) -> None:
        for head, blocks in self.decoded():
            writer.write(batch_of(WRITTEN, head, blocks)[0])

    def sizes(self, kind: str) -> list[int]:
        return [blocks[kind].rows for _, blocks in self.decoded() if kind in blocks]


def encoded(head: Head, blocks: dict[str, Block]) -> bytes:
    """The body of a batch."""
    return encode_head(head) + b"".join(
        encode(block.kind, block.rows, list(block.columns.values())) for block in blocks.values()
    )


def compare_agents(bodies: Sequence[bytes], kinds: Sequence[str]) -> dict[str, Any]:
    """Records of an agent: from the bytes of their blocks to the commit."""
    delete_cluster(WRITTEN)
    batches = AgentsBatches(bodies, kinds)
    with Writer() as writer, connect() as connection:
        AgentsBatches(bodies, ["worker"]).write(writer)
        batches.write(writer)
        bare = [BareCopy(connection, kind, WRITTEN, BARE, batches.sizes(kind)) for kind in kinds]
        rows = sum(map(len, chain.from_iterable(copy.batches for copy in bare)))
        if len(kinds) == 1:
            found = pairwise(lambda: partial(batches.write, writer), bare[0].copy, rows, ROUNDS_OF_AGENT)
        else:
            # in as many transactions: a batch of all kinds in each
            waiting = [list(copy.batches) for copy in bare]
            of_batches = [
                [(copy, left.pop(0)) for copy, left in zip(bare, waiting, strict=True) if copy.kind in blocks]
                for _, blocks in batches.decoded()
            ]
            found = pairwise(
                lambda: partial(batches.write, writer), lambda: copy_together(connection, of_batches), rows
            )
    delete_cluster(WRITTEN)
    for kind in kinds:
        delete_rows(kind)
    return found


def copy_together(connection: psycopg.Connection, batches: Sequence[Sequence[tuple[BareCopy, Any]]]) -> None:
    for batch in batches:
        with connection.transaction():
            for copy, rows in batch:
                copy.copy_batch(rows)


def processor_per_span(bodies: Sequence[bytes]) -> dict[str, float]:
    """CPU time of the web process for an agent's batches: microseconds per span and per record."""
    project = Project.objects.create(name="Benchmark", slug="benchmark")
    client = Client(
        SERVER_NAME="localhost",
        headers={"Authorization": f"Bearer {ingest_tokens.make(project, 'benchmark', None)[1]}"},
    )
    batches = AgentsBatches(bodies)
    spans, records, used = 0, 0, 0.0
    for number in range(ROUNDS_OF_AGENT):
        batches.agent, batches.numbers = uuid4().hex, count(1)
        for body in batches.bodies:
            head, blocks = decode_batch(body)
            of_round = replace(head, agent=batches.agent, sequence=next(batches.numbers), is_last=False)
            compressed = gzip.compress(encoded(of_round, blocks), 1)
            start = time.process_time()
            answer = client.post(
                "/api/v1/ingest",
                compressed,
                content_type="application/octet-stream",
                headers={"Content-Encoding": "gzip"},
            )
            if number:  # the first round makes the cluster known
                used += time.process_time() - start
                spans += blocks["span"].rows if "span" in blocks else 0
                records += sum(block.rows for block in blocks.values())
            assert answer.status_code == 200, answer.content
    for cluster in project.clusters.all():
        delete_cluster(cluster.pk)
    return {
        "per_span": round(used / spans * 1e6, 1),
        "per_record": round(used / records * 1e6, 1),
        "spans": spans,
        "records": records,
    }


def delete_rows(kind: str) -> None:
    with connect() as connection:
        connection.execute(f"DELETE FROM {kind} WHERE cluster_id = {BARE}")


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
    bodies = record_bodies()
    together: list[list[Span | Sample]] = [list(chain.from_iterable(of)) for of in (spans, samples)]
    measured = {
        "spans": compare_scraped("span", workers, spans),
        "spans_in_one_batch": compare_scraped("span", workers, together[:1]),
        "samples": compare_scraped("sample", workers, samples),
        "samples_in_one_batch": compare_scraped("sample", workers, together[1:]),
    }
    agents = {kind: compare_agents(bodies, [kind]) for kind in kinds_of(bodies)}
    agents["together"] = compare_agents(bodies, list(agents))
    processor = processor_per_span(bodies)
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
                f"{kind} stored a second, in {batches} batches",
                "a bare binary COPY",
                measured[name]["ratio_to_bare_copy"],
                limit,
                True,
            )
            for kind in ("spans", "samples")
            for batches, name, limit in (
                ("large", f"{kind}_in_one_batch", RATIO_TO_COPY),
                ("small", kind, None),
            )
        ),
        *(
            Result(
                f"an agent's records stored a second: {kind}",
                "a bare binary COPY",
                agents[kind]["ratio_to_bare_copy"],
                RATIO_OF_AGENT if kind == "together" else None,
                True,
            )
            for kind in agents
        ),
        Result(
            "CPU time of the web process while it takes in an agent's batches (µs per span)",
            "all records of these batches",
            processor["per_span"],
        ),
    ]
    details = {"agents": agents, "processor": processor, "dask_tasks_per_second": round(dask)}
    return results, {**measured, **details}


def kinds_of(bodies: Sequence[bytes]) -> list[str]:
    """The kinds of records with a table in an agent's batches."""
    found = {kind for _, blocks in AgentsBatches(bodies).decoded() for kind in blocks}
    return sorted(kind for kind in found if KINDS[kind].has_table)


def drop_database() -> None:
    """Also while the writers of the web process, which stay connected, use it."""
    django_connection.close()
    with django_connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def main() -> int:
    django_connection.settings_dict["TEST"]["NAME"] = DATABASE
    django_connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        results, measured = measure()
        store = database()
    finally:
        drop_database()
    return print_results("ingest", results, ("psycopg", "numpy", "distributed"), **measured, store=store)


if __name__ == "__main__":
    sys.exit(main())
