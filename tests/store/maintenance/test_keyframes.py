"""Keyframes: how many are made, when, and what they save from being read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch, BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance import keyframes
from observatory.store.maintenance.keyframes import (
    AGE,
    EXTENSION,
    INTERVAL,
    counted_until,
    drop_keyframes,
    keep_progress,
    make_keyframes,
)
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.times import from_seconds, seconds_to_microseconds
from observatory.wire.records import Span
from tests.replay.records import make_span
from tests.support.query_plans import PlannedConnection

SECONDS = INTERVAL / 1e6
HOURS = 48


def record(writer: Writer, cluster: int, spans: list[Span], committed: float) -> None:
    writer.write(Batch.of(cluster, spans=spans, committed=committed))


def extent_of(connection: psycopg.Connection, cluster: int) -> Extent:
    extent = read_extent(connection, cluster)
    assert extent is not None
    return extent


def kept(connection: psycopg.Connection, cluster: int) -> list[tuple[float, float, int]]:
    """Times and the ends of their validity in seconds, and the number of tasks until then."""
    query = """SELECT extract(epoch FROM time)::float8, extract(epoch FROM until)::float8,
                   (SELECT coalesce(sum(one), 0)::int
                    FROM unnest(counts) WITH ORDINALITY AS found (one, place)
                    WHERE (place - 1) %% 14 IN (1, 2))
               FROM keyframe WHERE cluster_id = %s ORDER BY time"""
    return connection.execute(query, [cluster]).fetchall()


def done(connection: psycopg.Connection, cluster: int, at: float) -> int:
    counted = counted_until(connection, cluster, seconds_to_microseconds(at))
    return sum(found.scraped + found.computed for found in counted.values())


def start_of_interval(now: float) -> float:
    return (seconds_to_microseconds(now) // INTERVAL * INTERVAL) / 1e6


def test_two_idle_days_have_no_more_keyframes_than_their_tasks_need(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    busy = [make_span(f"inc-{number}", now + number / 400, now + number / 400 + 1) for number in range(9_000)]
    rare = [make_span(f"sum-{hour}", now + hour * 3600, now + hour * 3600 + 60) for hour in range(1, HOURS)]
    record(writer, cluster, busy + rare, now + HOURS * 3600)
    until = seconds_to_microseconds(now + HOURS * 3600)
    assert make_keyframes(connection, extent_of(connection, cluster), until) in (2, 3)
    assert make_keyframes(connection, extent_of(connection, cluster), until) == 0


@pytest.mark.parametrize("is_at_once", [False, True], ids=["while it is recorded", "at once"])
def test_with_many_prefixes_there_are_fewer_keyframes(
    is_at_once: bool,
    cluster: int,
    writer: Writer,
    now: float,
    connection: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyframes, "MANY_RECORDS", 50)
    monkeypatch.setattr(keyframes, "RECORDS_A_PREFIX", 2)
    begin = start_of_interval(now)
    spans = [
        make_span(f"prefix{number}-{time}", begin + time * SECONDS + 0.1, begin + time * SECONDS + 0.2)
        for time in range(8)
        for number in range(100)
    ]
    record(writer, cluster, spans, begin + 20 * SECONDS)
    extent = extent_of(connection, cluster)
    for time in (9,) if is_at_once else range(1, 10):
        make_keyframes(connection, extent, seconds_to_microseconds(begin + time * SECONDS + 0.1))
    assert [tasks for *_, tasks in kept(connection, cluster)] == [100, 300, 500, 700]


def test_few_tasks_have_a_keyframe_ten_minutes_later_that_holds_while_nothing_happens(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    begin = start_of_interval(now)
    spans = [make_span(f"inc-{number}", begin + 0.1, begin + 0.2) for number in range(3)]
    record(writer, cluster, spans, begin + 10)
    extent = extent_of(connection, cluster)
    until = seconds_to_microseconds(begin) + AGE
    assert make_keyframes(connection, extent, until - seconds_to_microseconds(1)) == 0
    assert make_keyframes(connection, extent, until) == 1
    first = pytest.approx(begin + SECONDS, abs=1e-6)
    assert kept(connection, cluster) == [(first, first, 3)]
    for passed in (10 * AGE, 10 * AGE + EXTENSION - 1):
        assert make_keyframes(connection, extent, until + passed) == 0, "no tasks came since"
        held = pytest.approx((until + 10 * AGE) / 1e6, abs=1e-6)
        assert kept(connection, cluster) == [(first, held, 3)]


def test_while_a_keyframe_holds_no_records_of_other_clusters_are_read(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    record(writer, cluster, [make_span("inc-1", now + 1, now + 2)], now + 10)
    end = Batch.of(cluster, committed=now + 5_000)
    writer.write(end)
    connection.execute(
        "UPDATE extent SET last = to_timestamp(%s) WHERE cluster_id = %s", [now + 5_000, cluster]
    )
    until = seconds_to_microseconds(now + 4_000)
    for _ in range(2):
        make_keyframes(connection, extent_of(connection, cluster), until)
    connection.execute("SET enable_seqscan = off")  # of the few rows that tests have, all may be read sooner
    planned: Any = PlannedConnection(connection)
    assert (
        sum(found.scraped + found.computed for found in counted_until(planned, cluster, until).values()) == 1
    )
    assert planned.rows_read("keyframe") == 1, "the last that was read"
    assert done(connection, cluster, now + 1.5) == 0
    assert done(connection, cluster, now + 5_000) == 1


def test_a_cluster_without_tasks_has_one_keyframe_in_time(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    record(writer, cluster, [], now)
    connection.execute(
        "UPDATE extent SET first = to_timestamp(%s), last = to_timestamp(%s) WHERE cluster_id = %s",
        [now, now + 9_000, cluster],
    )
    extent = extent_of(connection, cluster)
    made = [make_keyframes(connection, extent, seconds_to_microseconds(now + at)) for at in (60, 900, 8_000)]
    assert made == [0, 1, 0]
    [(_, until, tasks)] = kept(connection, cluster)
    assert (until, tasks) == (pytest.approx(now + 8_000, abs=1e-6), 0)


def test_a_late_record_in_the_time_that_a_keyframe_holds_is_counted(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    record(writer, cluster, [make_span("inc-1", now + 1, now + 2)], now + 5_000)
    writer.write(
        Batch.of(cluster, spans=[make_span("inc-2", now + 4_900, now + 4_950)], committed=now + 5_000)
    )
    until = seconds_to_microseconds(now + 4_000)
    for _ in range(2):
        make_keyframes(connection, extent_of(connection, cluster), until)
    [(time, held, _)] = kept(connection, cluster)
    assert held > time + 1_000
    record(writer, cluster, [make_span("inc-3", now + 2_000, now + 2_001)], now + 5_000)
    assert kept(connection, cluster) == [(time, time, 1)], "it holds at its own time alone"
    assert done(connection, cluster, now + 3_999) == 2
    drop_keyframes(connection, cluster, time - 1)
    assert kept(connection, cluster) == []


def test_transitions_that_come_late_are_counted_too(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    def batch(time: float, number: int) -> BatchBuilder:
        made = BatchBuilder(cluster, committed=now + 5_000)
        made.rows["transition"] = [(time, f"inc-{number}", "processing", "memory", "", "task-finished")]
        return made

    writer.write(batch(now + 1, 1).batch)
    writer.write(batch(now + 4_990, 2).batch)
    make_keyframes(connection, extent_of(connection, cluster), seconds_to_microseconds(now + 4_000))
    assert [tasks for *_, tasks in kept(connection, cluster)] == [1]
    writer.write(batch(now + 0.5, 3).batch)
    assert kept(connection, cluster) == []
    assert done(connection, cluster, now + 4_000) == 2


def test_tasks_that_are_removed_stay_counted(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    spans = [make_span(f"inc-{number}", now + number, now + number + 1) for number in range(200)]
    record(writer, cluster, spans, now + 1000)
    instant = from_seconds(now) + timedelta(seconds=50)
    keep_progress(connection, cluster, [instant])
    keep_progress(connection, cluster, [instant])
    [(time, _, tasks)] = kept(connection, cluster)
    assert now + 50 < time <= now + 50 + SECONDS
    assert tasks == int(time - now)


def test_outside_of_what_is_recorded_nothing_is_kept(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    record(writer, cluster, [make_span("inc-1", now, now + 1)], now + 1000)
    instants = [from_seconds(now) + timedelta(seconds=seconds) for seconds in (-500, 5_000)]
    keep_progress(connection, cluster, instants)
    assert kept(connection, cluster) == []
