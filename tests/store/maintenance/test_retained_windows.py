"""Windows retained beyond retention: their rows stay unchanged, all others are removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retained_windows import RetainedWindow, holes, merge_windows
from observatory.store.maintenance.retention import apply_retention
from observatory.store.schema.time_series import time_series
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.store.maintenance.test_retention import DAY, each, recorded

Rows = Callable[..., list[tuple[Any, ...]]]
LEVEL = 20
TILE = (512 << LEVEL) / 1e6
"""seconds"""


@pytest.fixture
def noon(now: float) -> float:
    """Noon of a day older than any retention in these tests."""
    return (now // DAY - 45) * DAY + DAY / 2


def window(cluster: int, start: float, stop: float) -> RetainedWindow:
    return RetainedWindow(cluster, from_seconds(start), from_seconds(stop))


def write(writer: Writer, cluster: int, times: list[float], make: Any) -> None:
    writer.write(
        Batch.of(
            cluster,
            spans=[make.span(time, worker="tcp://w:1") for time in times],
            samples=[make.sample(time, value=time, worker="tcp://w:1") for time in times],
            events=[Event(time, "restarted") for time in times],
            rows=recorded(times),
        )
    )


def stored(rows: Rows, cluster: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows by table, sorted by time."""
    return {
        table.name: sorted(
            rows(f"SELECT * FROM {table.name} WHERE cluster_id = %s", cluster),
            key=lambda row: (row[0], str(row)),
        )
        for table in time_series()
    }


def counts(rows: Rows, cluster: int) -> dict[str, int]:
    return {name: len(found) for name, found in stored(rows, cluster).items()}


@pytest.mark.parametrize(
    "days", [30, 7], ids=["whole days are dropped", "the project retains less than others"]
)
def test_records_in_a_retained_window_stay_unchanged_and_all_others_are_removed(
    writer: Writer, rows: Rows, cluster: int, now: float, noon: float, make: Any, days: int
) -> None:
    if days == 7:
        noon += 30 * DAY  # other projects still retain that day
    inside = [noon + second for second in range(5)]
    write(writer, cluster, inside, make)
    before = stored(rows, cluster)
    assert {name: len(found) for name, found in before.items()} == each(5)
    outside = [noon - 2 * DAY, noon - 60, noon + 60, noon + 2 * DAY]
    write(writer, cluster, outside, make)
    write(writer, cluster, [now - 1], make)
    retained = [window(cluster, noon - 10, noon + 10)]
    for _ in range(2):  # the second run has nothing to remove
        apply_retention({cluster: days}, longest=30, now=from_seconds(now), retained=retained)
        after = stored(rows, cluster)
        assert {name: found[:5] for name, found in after.items()} == before
        assert counts(rows, cluster) == each(6)
    apply_retention({cluster: days}, longest=30, now=from_seconds(now))
    assert counts(rows, cluster) == each(1)


def test_records_of_another_cluster_in_the_same_window_are_removed(
    writer: Writer, rows: Rows, cluster: int, now: float, noon: float, make: Any
) -> None:
    other = cluster + 500_000
    for id in (cluster, other):
        write(writer, id, [noon], make)
    apply_retention({cluster: 30, other: 30}, 30, from_seconds(now), [window(cluster, noon - 10, noon + 10)])
    assert counts(rows, cluster) == each(1)
    assert counts(rows, other) == each(0)


def test_spans_that_overlap_the_window_are_retained_even_if_they_started_days_before(
    writer: Writer, rows: Rows, cluster: int, now: float, noon: float, make: Any
) -> None:
    spans = [
        make.span(noon - 2 * DAY, key="lasts into it", stop=noon + 1),
        make.span(noon - 2 * DAY, key="ends before it", stop=noon - 1),
        make.span(noon + 9, key="lasts beyond it", stop=noon + DAY),
        make.span(noon + 10, key="begins when it ends", stop=noon + 11),
    ]
    writer.write(Batch.of(cluster, spans=spans))
    apply_retention({cluster: 30}, 30, from_seconds(now), [window(cluster, noon, noon + 10)])
    keys = rows("SELECT key_rest FROM span WHERE cluster_id = %s ORDER BY start", cluster)
    assert keys == [("lasts into it",), ("lasts beyond it",)]


def test_tiles_inside_of_a_retained_window_stay(
    writer: Writer,
    rows: Rows,
    cluster: int,
    now: float,
    noon: float,
    make: Any,
    connection: psycopg.Connection,
) -> None:
    first = int(noon * 1e6) >> (LEVEL + 9)
    start = (first << (LEVEL + 9)) / 1e6
    write(writer, cluster, [start + 1, now - 1], make)
    for index in range(first - 1, first + 4):
        connection.execute("INSERT INTO tile VALUES (%s, 'spans', %s, %s, 1, '')", [cluster, LEVEL, index])
    apply_retention({cluster: 30}, 30, from_seconds(now), [window(cluster, start, start + 2.5 * TILE)])
    left = rows("SELECT index FROM tile WHERE cluster_id = %s ORDER BY index", cluster)
    assert left == [(first,), (first + 1,)]


def test_the_extent_starts_with_the_first_retained_window_and_holes_are_stored(
    writer: Writer,
    rows: Rows,
    cluster: int,
    now: float,
    noon: float,
    make: Any,
    connection: psycopg.Connection,
) -> None:
    write(writer, cluster, [noon - 5 * DAY, noon, noon + DAY, now - 1], make)
    cutoff = now - 30 * DAY

    def first() -> float:
        return float(
            rows("SELECT extract(epoch FROM first)::float8 FROM extent WHERE cluster_id = %s", cluster)[0][0]
        )

    retained = [window(cluster, noon + DAY - 5, noon + DAY + 5), window(cluster, noon - 5, noon + 5)]
    apply_retention({cluster: 30}, 30, from_seconds(now), retained)
    assert first() == noon - 5
    assert holes(connection, cluster) == [(noon + 5, noon + DAY - 5), (noon + DAY + 5, cutoff)]
    apply_retention({cluster: 30}, 30, from_seconds(now), retained[:1])
    assert first() == noon + DAY - 5
    assert holes(connection, cluster) == [(noon + DAY + 5, cutoff)]
    apply_retention({cluster: 30}, 30, from_seconds(now))
    assert first() == cutoff
    assert holes(connection, cluster) == []


def test_overlapping_windows_are_merged() -> None:
    windows = [window(2, 10, 20), window(1, 10, 20), window(1, 15, 18), window(1, 20, 30), window(1, 40, 50)]
    assert merge_windows(windows) == [window(1, 10, 30), window(1, 40, 50), window(2, 10, 20)]
