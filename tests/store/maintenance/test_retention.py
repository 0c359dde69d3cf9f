from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from observatory.store.client_runs import store_client_runs
from observatory.store.engines import choose
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import (
    SHORTEST_STEP,
    STEP,
    _next_step,
    apply_retention,
    delete_cluster,
)
from observatory.store.queries.cluster_rows import count_rows
from observatory.store.schema.dimensions import DIMENSIONS
from observatory.store.schema.time_series import time_series
from observatory.store.times import from_seconds
from observatory.wire.records import ClientRun, Event, WorkerGone

Rows = Callable[..., list[tuple[Any, ...]]]

DAY = 86_400.0


def _batch(cluster: int, times: list[float], make: Any) -> Batch:
    return Batch.of(
        cluster,
        spans=[make.span(time, worker="tcp://w:1") for time in times],
        samples=[make.sample(time, worker="tcp://w:1") for time in times],
        events=[Event(time, "restarted") for time in times],
        rows=recorded(times),
    )


def recorded(times: list[float]) -> dict[str, list[tuple[Any, ...]]]:
    """A row of every kind that only an agent tells."""
    worker, key = "tcp://w:1", "inc-1"
    rows = {
        "transition": (key, "waiting", "processing", worker, "why"),
        "error": (key, worker, "erred", "ValueError", "no", "", 0, [worker], 0),
        "log": ("worker", worker, 30, "distributed.worker", "careful", "", 1),
        "computation": ("c", "client", "code", [["inc", 1]], {}, []),
        "group_dependency": ("c", "inc", "dec", 1),
        "dependency": ("c", key, "dec-1"),
        "task": ("c", key, "(0, 1)", 0, {}, {}),
        "profile": (worker, "task", "inc", "inc\tfile\t1", 3),
        "spill": (key, worker, 1e6),
        "steal": ("confirm", key, worker, "tcp://w:2", 1, 0.1, 0.2, 0.3),
        "fine_performance": ("span", ["default"], "execute", "inc", "thread-cpu", "seconds", 0.5),
        "shuffle": ("f00d", "comm", "read", 1e6),
    }
    found = {kind: [(time, *rest) for time in times] for kind, rest in rows.items()}
    found["transfer"] = [(time, time, worker, "tcp://w:2", 0, 1.0, 0.0, {key: 1}, 1) for time in times]
    found["client_activity"] = [(time, time, "f00d", "sending") for time in times]
    return found


def each(count: int) -> dict[str, int]:
    return {table.name: count for table in time_series()}


def _counts(rows: Rows, cluster: int) -> dict[str, int]:
    return {
        table.name: rows(f"SELECT count(*) FROM {table.name} WHERE cluster_id = %s", cluster)[0][0]
        for table in time_series()
    }


def test_a_record_of_any_day_finds_its_partition(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    times = [now - days * DAY for days in range(0, 400, 50)]
    writer.write(_batch(cluster, times, make))
    assert _counts(rows, cluster) == each(8)


def test_concurrent_writers_of_the_same_new_day_succeed(
    rows: Rows, cluster: int, now: float, make: Any
) -> None:
    failed: list[BaseException] = []
    start = threading.Barrier(4)

    def write(part: int) -> None:
        try:
            with Writer() as writer:
                start.wait(timeout=120)
                for day in range(500, 510):
                    writer.write(_batch(cluster, [now - day * DAY], make))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=[part]) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert _counts(rows, cluster) == each(40)


def test_partitions_are_created_ahead(connection: psycopg.Connection, rows: Rows) -> None:
    from observatory.store.tasks import make_partitions

    make_partitions()
    make_partitions()
    if choose(connection).name == "plain":
        tomorrow = datetime.now(UTC).date() + timedelta(days=1)
        for table in time_series():
            assert rows("SELECT to_regclass(%s) IS NOT NULL", f"{table.name}_{tomorrow:%Y%m%d}") == [(True,)]


def test_records_older_than_every_projects_retention_are_dropped(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(_batch(cluster, [now - 45 * DAY, now - 32 * DAY, now - 29 * DAY, now - 1], make))
    retained = apply_retention({cluster: 30}, longest=30, now=from_seconds(now))
    assert retained.dropped >= 6
    assert _counts(rows, cluster) == each(2)
    first = rows("SELECT extract(epoch FROM first)::float8 FROM extent WHERE cluster_id = %s", cluster)
    assert first == [(now - 30 * DAY,)]


def test_a_dropped_partition_is_created_again_for_a_writer_that_used_it(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(_batch(cluster, [now - 45 * DAY], make))
    apply_retention({cluster: 30}, longest=30, now=from_seconds(now))
    writer.write(_batch(cluster, [now - 45 * DAY], make))
    assert _counts(rows, cluster) == each(1)


def test_a_shorter_retention_removes_only_the_projects_own_rows(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    times = [now - 10 * DAY, now - 7 * DAY - 10, now - 7 * DAY + 10, now - 1]
    other = cluster + 500_000
    try:
        for id in (cluster, other):
            writer.write(_batch(id, times, make))
        retained = apply_retention({cluster: 7, other: 30}, longest=30, now=from_seconds(now))
        assert retained.deleted == 2 * len(time_series())
        assert _counts(rows, cluster) == each(2)
        assert _counts(rows, other) == each(4)
    finally:
        delete_cluster(other)


def test_tiles_of_removed_records_are_deleted(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    writer.write(_batch(cluster, [now - 10 * DAY, now - 1], make))
    level = 20
    for time in (now - 10 * DAY, now - 1):
        index = int(time * 1e6) >> (level + 9)
        connection.execute("INSERT INTO tile VALUES (%s, 'spans', %s, %s, 1, '')", [cluster, level, index])
    apply_retention({cluster: 7}, longest=30, now=from_seconds(now))
    assert rows("SELECT index FROM tile WHERE cluster_id = %s", cluster) == [
        (int((now - 1) * 1e6) >> (level + 9),)
    ]


def test_compressed_rows_are_deleted(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    if choose(connection).name != "timescale":
        pytest.skip("this database has no TimescaleDB: nothing is compressed")
    times = [now - 10 * DAY - second for second in range(2_000)]
    writer.write(_batch(cluster, [*times, now - 1], make))
    for table in time_series():
        connection.execute(
            """SELECT compress_chunk(chunk)
               FROM show_chunks(%s::regclass, older_than => interval '5 days') chunk""",
            [table.name],
        )
    compressed = rows("SELECT count(*) FROM timescaledb_information.chunks WHERE is_compressed")
    assert compressed[0][0] >= 3
    late = make.span(times[-1], key="late")
    writer.write(Batch.of(cluster, spans=[late]))
    assert _counts(rows, cluster) == {**each(2_001), "span": 2_002}
    apply_retention({cluster: 7}, longest=30, now=from_seconds(now))
    assert _counts(rows, cluster) == each(1)


def test_deleting_a_cluster_leaves_nothing_of_it(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    other = cluster + 500_000
    try:
        for id in (cluster, other):
            writer.write(_batch(id, [now - 3 * DAY, now - DAY, now], make))
            connection.execute("INSERT INTO tile VALUES (%s, 'spans', 20, 1, 1, '')", [id])
            connection.execute("INSERT INTO keyframe VALUES (%s, now(), '{}', '{}', now(), '{}')", [id])
            connection.execute(
                "INSERT INTO agent VALUES (gen_random_uuid(), %s, 1, false, now(), now(), now())", [id]
            )
            connection.execute("INSERT INTO hole VALUES (%s, now(), now())", [id])
            connection.execute("INSERT INTO late VALUES (%s, now())", [id])
            store_client_runs(
                connection, id, [ClientRun(uuid4(), now, now, "running", "etl", {}, "", "", "")]
            )
        delete_cluster(cluster)
        for table in (*DIMENSIONS, *(table.name for table in time_series())):
            assert rows(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", cluster) == [(0,)], table
            assert rows(f"SELECT count(*) > 0 FROM {table} WHERE cluster_id = %s", other) == [(True,)], table
        committed = writer.write(_batch(cluster, [now], make))
        assert (committed.extent.spans, len(committed.workers)) == (1, 1)
    finally:
        delete_cluster(other)


def test_deleting_says_how_far_it_is_and_what_there_was_and_goes_on_after_a_break(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    writer.write(_batch(cluster, [now - hour * 3600 for hour in range(30)], make))
    there = count_rows([cluster], 60)
    assert (there.records, there.is_least) == (30 * len(time_series()), False)
    assert count_rows([cluster], 0).is_least

    def broken(share: float) -> None:
        if share > 0.5:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        delete_cluster(cluster, broken)
    left = count_rows([cluster], 60).records
    assert 0 < left < there.records
    shares: list[float] = []
    assert delete_cluster(cluster, shares.append).records == left
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert count_rows([cluster], 60).records == 0


def test_steps_grow_while_they_are_quick_and_shrink_when_they_are_slow() -> None:
    assert _next_step(SHORTEST_STEP, 0.1) == 2 * SHORTEST_STEP
    assert _next_step(STEP, 0.1) == STEP
    assert _next_step(STEP, 2) == STEP
    assert _next_step(STEP, 60) == STEP / 2
    assert _next_step(SHORTEST_STEP, 60) == SHORTEST_STEP


def test_a_cluster_without_records_can_be_deleted(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(
        Batch.of(cluster, workers=[make.worker(now)], gone=[WorkerGone(make.address, now + 1, "removed")])
    )
    delete_cluster(cluster)
    delete_cluster(cluster)
    assert rows("SELECT count(*) FROM worker WHERE cluster_id = %s", cluster) == [(0,)]


def test_the_estimated_row_count_follows_the_table(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    from observatory.store.queries.extents import row_estimates

    connection.execute("ANALYZE span")
    before = row_estimates(connection)["span"]
    writer.write(_batch(cluster, [now - second for second in range(1_000)], make))
    connection.execute("ANALYZE span")
    assert row_estimates(connection)["span"] - before == 1_000


def test_extents_are_returned_for_clusters_with_batches(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    from observatory.store.queries.extents import extents

    committed = writer.write(Batch.of(cluster, spans=[make.span(now)], committed=now + 1, errors=2))
    assert extents([cluster, cluster + 1]) == {cluster: committed.extent}
