"""Keyframes of computed tasks: how many are made, and when."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance import keyframes
from observatory.store.maintenance.keyframes import (
    AGE,
    INTERVAL,
    PROGRESS,
    keep_progress,
    make_keyframes,
    progress_parameters,
)
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.times import from_seconds, seconds_to_microseconds
from observatory.wire.records import Span
from tests.replay.records import make_span

SECONDS = INTERVAL / 1e6
HOURS = 48


def record(writer: Writer, cluster: int, spans: list[Span], committed: float) -> None:
    writer.write(Batch.of(cluster, spans=spans, committed=committed))


def extent_of(connection: psycopg.Connection, cluster: int) -> Extent:
    extent = read_extent(connection, cluster)
    assert extent is not None
    return extent


def kept(connection: psycopg.Connection, cluster: int) -> list[tuple[float, int]]:
    """Times in seconds, and the number of tasks until then."""
    query = """SELECT extract(epoch FROM time)::float8, (SELECT sum(one)::int FROM unnest(tasks) AS one)
               FROM keyframe WHERE cluster_id = %s ORDER BY time"""
    return connection.execute(query, [cluster]).fetchall()


def test_two_idle_days_have_no_more_keyframes_than_their_tasks_need(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    busy = [make_span(f"inc-{number}", now + number / 100, now + number / 100 + 1) for number in range(2_500)]
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
    monkeypatch.setattr(keyframes, "MANY_TASKS", 50)
    begin = (seconds_to_microseconds(now) // INTERVAL * INTERVAL) / 1e6
    spans = [
        make_span(f"prefix{number}-{time}", begin + time * SECONDS + 1, begin + time * SECONDS + 2)
        for time in range(8)
        for number in range(100)
    ]
    record(writer, cluster, spans, begin + 20 * SECONDS)
    extent = extent_of(connection, cluster)
    for time in (9,) if is_at_once else range(1, 10):
        make_keyframes(connection, extent, seconds_to_microseconds(begin + time * SECONDS + 1))
    assert [tasks for _, tasks in kept(connection, cluster)] == [100, 300, 500, 700]


def test_few_tasks_have_a_keyframe_ten_minutes_later(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    begin = (seconds_to_microseconds(now) // INTERVAL * INTERVAL) / 1e6
    record(
        writer, cluster, [make_span(f"inc-{number}", begin + 1, begin + 2) for number in range(3)], begin + 10
    )
    extent = extent_of(connection, cluster)
    until = seconds_to_microseconds(begin) + AGE
    assert make_keyframes(connection, extent, until - 1) == 0
    assert make_keyframes(connection, extent, until) == 1
    assert kept(connection, cluster) == [(pytest.approx(begin + SECONDS, abs=1e-6), 3)]
    assert make_keyframes(connection, extent, until + 10 * AGE) == 0, "no tasks came since"


def test_where_a_keyframe_counts_all_tasks_the_spans_of_other_clusters_are_not_read(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    begin = (seconds_to_microseconds(now) // INTERVAL * INTERVAL) / 1e6
    later = seconds_to_microseconds(begin + 5_000)
    record(writer, cluster, [], begin + 5)
    parameters = progress_parameters(connection, cluster, later)
    assert parameters["at"] == parameters["after"], "it has no tasks"
    record(writer, cluster, [make_span("inc-1", begin + 1, begin + 2)], begin + 10)
    assert progress_parameters(connection, cluster, later)["after"] == from_seconds(begin), "a second before"
    make_keyframes(connection, extent_of(connection, cluster), seconds_to_microseconds(begin) + AGE)
    parameters = progress_parameters(connection, cluster, later)
    assert parameters["at"] == parameters["after"] == from_seconds(begin + SECONDS)
    assert connection.execute(PROGRESS, parameters).fetchall()[0][1] == 1
    record(writer, cluster, [make_span("inc-2", begin + 3_000, begin + 3_001)], begin + 3_010)
    parameters = progress_parameters(connection, cluster, later)
    assert parameters["at"] == from_seconds(begin + 5_000)
    assert sum(row[1] for row in connection.execute(PROGRESS, parameters).fetchall()) == 2


def test_tasks_that_are_removed_stay_counted(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    spans = [make_span(f"inc-{number}", now + number, now + number + 1) for number in range(200)]
    record(writer, cluster, spans, now + 1000)
    instant = from_seconds(now) + timedelta(seconds=50)
    keep_progress(connection, cluster, [instant])
    keep_progress(connection, cluster, [instant])
    [(time, tasks)] = kept(connection, cluster)
    assert now + 50 < time <= now + 50 + SECONDS
    assert tasks == int(time - now)


def test_outside_of_what_is_recorded_nothing_is_kept(
    cluster: int, writer: Writer, now: float, connection: psycopg.Connection
) -> None:
    record(writer, cluster, [make_span("inc-1", now, now + 1)], now + 1000)
    instants = [from_seconds(now) + timedelta(seconds=seconds) for seconds in (-500, 5_000)]
    keep_progress(connection, cluster, instants)
    assert kept(connection, cluster) == []
