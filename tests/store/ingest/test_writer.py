"""What the writer stores comes back as it was written; what it can't store is refused."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import decode_key
from observatory.store.queries.extents import extents
from observatory.wire.metrics import TASKS_COMPUTED
from observatory.wire.records import Action, Event, MetricType, Series, Status, WorkerGone, clean_key

Rows = Callable[..., list[tuple[Any, ...]]]

SPANS = """SELECT address, thread, key_rest, prefix.name, task_group.name, action,
                  extract(epoch FROM start)::float8,
                  extract(epoch FROM stop)::float8, nbytes, typename.name, span.status
           FROM span JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = worker_id
           JOIN prefix ON prefix.id = span.prefix_id JOIN task_group ON task_group.id = group_id
           JOIN typename ON typename.id = typename_id WHERE span.cluster_id = %s ORDER BY start, key_rest"""


def test_every_span_comes_back_as_it_was_written(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    spans = [
        make.span(
            now + index / 8,
            key=f"('inc-0a1b', {index})",
            action=action,
            thread=index,
            nbytes=index * 1_000_000_007,
            status=Status(index % 2),
            typename=f"type{index % 3}",
        )
        for index, action in enumerate(Action)
    ]
    committed = writer.write(Batch.of(cluster, spans=spans))
    stored = rows(SPANS, cluster)
    assert len(stored) == len(spans)
    for span, row in zip(spans, stored, strict=True):
        worker, thread, rest, prefix, group, action, start, stop, nbytes, typename, status = row
        assert (worker, thread, prefix, group) == (span.worker, span.thread, span.prefix, span.group)
        assert decode_key(rest, group) == span.key
        assert (action, start, stop) == (span.action, span.start, span.stop)
        assert (nbytes, typename, status) == (span.nbytes, span.typename, span.status)
    assert committed.extent.spans == len(spans)
    assert committed.extent.tasks == 1
    assert (committed.extent.first, committed.extent.last) == (now, now + (len(spans) - 1) / 8 + 0.5)


def test_tasks_whose_spans_are_missing_are_counted_by_the_scheduler(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    counted = [make.sample(now + at, value, TASKS_COMPUTED) for at, value in ((1, 5.0), (2, 7.0))]
    assert writer.write(Batch.of(cluster, spans=[make.span(now)], samples=counted)).extent.tasks == 7
    reset = make.sample(now + 3, 1.0, TASKS_COMPUTED)
    spans = [make.span(now + number) for number in range(8)]
    assert writer.write(Batch.of(cluster, spans=spans, samples=[reset])).extent.tasks == 9
    assert extents([cluster])[cluster].tasks == 9


@pytest.mark.parametrize("value", [0.0, -1.5, 1e300, math.inf, -math.inf, math.nan])
def test_every_sample_comes_back_as_it_was_written(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, value: float
) -> None:
    series = Series("dask_m", (("a", "1"), ("b", 'x"y')), make.address, MetricType.COUNTER)
    writer.write(Batch.of(cluster, workers=[make.worker(now)], samples=[make.sample(now + 0.25, value)]))
    writer.write(
        Batch.of(
            cluster,
            samples=[
                make.sample(
                    now + 0.5,
                    value,
                    series.metric,
                    labels=series.labels,
                    worker=series.worker,
                    type=series.type,
                )
            ],
        )
    )
    stored = rows(
        """SELECT metric, labels, type, address, extract(epoch FROM time)::float8, value FROM sample
           JOIN series ON series.id = series_id LEFT JOIN worker ON worker.id = worker_id
           WHERE sample.cluster_id = %s ORDER BY time""",
        cluster,
    )
    assert [row[:5] for row in stored] == [
        ("m", {}, MetricType.GAUGE, None, now + 0.25),
        ("dask_m", dict(series.labels), MetricType.COUNTER, make.address, now + 0.5),
    ]
    assert all(row[5] == value or (math.isnan(row[5]) and math.isnan(value)) for row in stored)


def test_an_event_comes_back_with_its_worker(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    events = [
        Event(
            now, "worker-added", make.address, {"message": "w0 joined", "nested": {"list": [1, None, 2.5]}}
        ),
        Event(now + 1, "restarted"),
    ]
    writer.write(Batch.of(cluster, workers=[make.worker(now)], events=events))
    stored = rows(
        """SELECT extract(epoch FROM time)::float8, kind, address, event.detail FROM event
           LEFT JOIN worker ON worker.id = worker_id WHERE event.cluster_id = %s ORDER BY time""",
        cluster,
    )
    assert stored == [
        (now, "worker-added", make.address, dict(events[0].detail)),
        (now + 1, "restarted", None, {}),
    ]


HOSTILE = [
    "",
    "\x00",
    "\ud800",
    "a\x00b\ud800c\x01d",
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE span; --",
    "\\N",
    "\t\n\r",
    "😀" * 1_500,
    "x" * 100_000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_breaks_no_batch(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, text: str
) -> None:
    batch = Batch.of(
        cluster,
        workers=[make.worker(now, address=text, name=text, host=text, status=text)],
        spans=[make.span(now, worker=text, key=text, prefix=text, group=text, typename=text), make.span(now)],
        samples=[make.sample(now, 1.0, text, labels=((text, text),), worker=text)],
        events=[Event(now, text, text, {text: text, "message": text, "deep": [[{text: text}]]})],
        gone=[WorkerGone(text, now + 1, text)],
    )
    committed = writer.write(batch)
    assert committed.refused == 0
    tables = ("span", "sample", "event")
    counted = [rows(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", cluster)[0][0] for table in tables]
    assert counted == [2, 1, 1]
    keys = {decode_key(row[2], row[4]) for row in rows(SPANS, cluster)}
    assert clean_key(text) in keys


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, 0.0, -1e300, 1e300, 946_684_000.0])
def test_a_record_of_an_unreasonable_time_is_refused_and_the_others_are_stored(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, time: float
) -> None:
    batch = Batch.of(
        cluster,
        workers=[make.worker(now), make.worker(time, address="tcp://b")],
        spans=[make.span(now), make.span(time), make.span(now, stop=time)],
        samples=[make.sample(now), make.sample(time)],
        events=[Event(now, "restarted"), Event(time, "restarted")],
        gone=[WorkerGone(make.address, time, "lost")],
        committed=time,
    )
    committed = writer.write(batch)
    assert committed.refused == 6
    assert committed.extent.spans == 1
    assert committed.extent.committed == 0.0
    assert rows("SELECT ended FROM worker WHERE cluster_id = %s", cluster) == [(None,)]


def test_a_record_of_more_than_a_day_ahead_is_refused(
    writer: Writer, cluster: int, now: float, make: Any
) -> None:
    committed = writer.write(Batch.of(cluster, spans=[make.span(now + 80_000), make.span(now + 90_000)]))
    assert (committed.refused, committed.extent.spans) == (1, 1)


def test_numbers_beyond_64_bits_are_refused(writer: Writer, cluster: int, now: float, make: Any) -> None:
    spans = [
        make.span(now, nbytes=2**63),
        make.span(now, thread=2**64),
        make.span(now, nbytes=-1),
        make.span(now),
    ]
    assert writer.write(Batch.of(cluster, spans=spans)).refused == 3


def test_names_are_stored_once(writer: Writer, rows: Rows, cluster: int, now: float, make: Any) -> None:
    for round in range(3):
        writer.write(Batch.of(cluster, spans=[make.span(now + round)], samples=[make.sample(now + round)]))
    with Writer() as another:
        committed = another.write(
            Batch.of(cluster, spans=[make.span(now + 3)], samples=[make.sample(now + 3)])
        )
    assert (committed.prefixes, committed.lanes, committed.series, committed.workers) == ([], [], [], [])
    for table in ("worker", "lane", "prefix", "task_group", "typename", "series"):
        assert rows(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", cluster) == [(1,)], table
    assert rows("SELECT count(DISTINCT lane_id), count(*) FROM span WHERE cluster_id = %s", cluster) == [
        (1, 4)
    ]


def test_a_prefix_has_the_color_that_dask_gives_it(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    from distributed.diagnostics.task_stream import color_of

    prefixes = [f"prefix-{number}" for number in range(40)]
    committed = writer.write(Batch.of(cluster, spans=[make.span(now, prefix=prefix) for prefix in prefixes]))
    colors = dict(rows("SELECT name, color FROM prefix WHERE cluster_id = %s", cluster))
    assert colors == {prefix: color_of(prefix) for prefix in prefixes}
    assert {item["name"]: item["color"] for item in committed.prefixes} == colors


def test_two_writers_at_once_store_every_record_and_every_name_once(
    rows: Rows, cluster: int, now: float, make: Any
) -> None:
    failed: list[BaseException] = []
    start = threading.Barrier(2)

    def write(part: int) -> None:
        try:
            with Writer() as writer:
                start.wait(timeout=120)
                for batch in range(20):
                    names = [f"name-{batch}-{number}" for number in range(10)]
                    order = names if part else list(reversed(names))
                    spans = [
                        make.span(
                            now + batch,
                            key=f"{name}-{part}",
                            prefix=name,
                            group=name,
                            typename=name,
                            thread=batch,
                        )
                        for name in order
                    ]
                    samples = [
                        make.sample(now + batch, float(part), name, worker=make.address) for name in order
                    ]
                    writer.write(Batch.of(cluster, spans=spans, samples=samples))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=[part]) for part in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for table in ("prefix", "task_group", "typename"):
        counted = rows(f"SELECT count(*), count(DISTINCT name) FROM {table} WHERE cluster_id = %s", cluster)
        assert counted == [(200, 200)], table
    assert rows("SELECT count(*), count(DISTINCT metric) FROM series WHERE cluster_id = %s", cluster) == [
        (200, 200)
    ]
    assert rows("SELECT count(*) FROM worker WHERE cluster_id = %s", cluster) == [(1,)]
    lanes = rows("SELECT position FROM lane WHERE cluster_id = %s ORDER BY position", cluster)
    assert lanes == [(position,) for position in range(20)]
    for table in ("span", "sample"):
        assert rows(f"SELECT count(*) FROM {table} WHERE cluster_id = %s", cluster) == [(400,)]
    joined = rows(
        """SELECT count(*) FROM span
           JOIN prefix ON prefix.id = prefix_id AND prefix.cluster_id = span.cluster_id
           WHERE span.cluster_id = %s AND key_rest IN (E'\\x01-0', E'\\x01-1')""",
        cluster,
    )
    assert joined == [(400,)]
    assert rows("SELECT spans, tasks, workers FROM extent WHERE cluster_id = %s", cluster) == [(400, 400, 1)]


def test_a_record_of_the_settled_past_raises_the_version_and_drops_the_tiles_that_it_overlaps(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    first = writer.write(Batch.of(cluster, spans=[make.span(now - 100)], committed=now))
    level = 14  # 512 bins of 16 ms: 8.4 s a tile
    width = 512 * 2**level / 1e6

    def store_tile(layer: str, time: float) -> None:
        connection.execute(
            "INSERT INTO tile VALUES (%s, %s, %s, %s, 1, '')", [cluster, layer, level, int(time // width)]
        )

    for layer in ("spans", "prefixes", "memory", "events"):
        store_tile(layer, now - 60)
        store_tile(layer, now - 200)

    recent = writer.write(Batch.of(cluster, spans=[make.span(now - 29)]))
    assert recent.extent.version == first.extent.version
    assert rows("SELECT count(*) FROM tile WHERE cluster_id = %s", cluster) == [(8,)]

    late = writer.write(Batch.of(cluster, spans=[make.span(now - 62, stop=now - 58), make.span(now)]))
    assert late.extent.version == first.extent.version + 1
    left = rows("SELECT layer, index FROM tile WHERE cluster_id = %s ORDER BY layer, index", cluster)
    old, young = int((now - 200) // width), int((now - 60) // width)
    assert left == [("events", old), ("events", young), ("memory", old), ("memory", young),
                    ("prefixes", old), ("spans", old)]  # fmt: skip

    writer.write(Batch.of(cluster, samples=[make.sample(now - 60)], events=[Event(now - 60, "restarted")]))
    left = rows("SELECT layer, index FROM tile WHERE cluster_id = %s ORDER BY layer, index", cluster)
    assert left == [("events", old), ("memory", old), ("prefixes", old), ("spans", old)]


def test_committed_never_goes_back(writer: Writer, cluster: int, now: float, make: Any) -> None:
    assert writer.write(Batch.of(cluster, committed=now)).extent.committed == now
    assert writer.write(Batch.of(cluster, committed=now - 10)).extent.committed == now
    assert writer.write(Batch.of(cluster, spans=[make.span(now)])).extent.committed == now


def test_events_and_details_are_told_as_they_are_stored(writer: Writer, cluster: int, now: float) -> None:
    committed = writer.write(
        Batch.of(cluster, events=[Event(now, "restarted", "", {"message": "a\x00b"})], errors=3)
    )
    assert committed.events is not None
    assert committed.events.message.per_row() == ["a�b"]
    assert [json.loads(detail) for detail in committed.events.detail.per_row()] == [{"message": "a�b"}]
    assert committed.extent.errors == 3
