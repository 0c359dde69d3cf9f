from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.dimensions import read_dimensions
from observatory.wire.records import Event, WorkerGone

Rows = Callable[..., list[tuple[Any, ...]]]

LIFETIMES = """SELECT name, extract(epoch FROM started)::float8, extract(epoch FROM ended)::float8,
                      end_reason, status
               FROM worker WHERE cluster_id = %s ORDER BY started, id"""
LANES = """SELECT worker.name, lane.thread, lane.position, count(*) FROM span JOIN lane ON lane.id = lane_id
           JOIN worker ON worker.id = worker_id WHERE span.cluster_id = %s
           GROUP BY 1, 2, 3 ORDER BY 1, 3"""


def test_a_worker_that_is_seen_again_goes_on_living(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    first = writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    assert [item["status"] for item in first.workers] == ["running"]
    second = writer.write(Batch.of(cluster, workers=[make.worker(now, status="paused", nthreads=4)]))
    assert [(item["status"], item["nthreads"]) for item in second.workers] == [("paused", 4)]
    assert (
        writer.write(Batch.of(cluster, workers=[make.worker(now, status="paused", nthreads=4)])).workers == []
    )
    assert rows(LIFETIMES, cluster) == [("w0", now, None, "", "paused")]
    assert second.extent.workers == 1


def test_an_address_that_is_used_again_is_another_worker(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now, name="a")], spans=[make.span(now)]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "lost")]))
    writer.write(Batch.of(cluster, workers=[make.worker(now + 20, name="b")], spans=[make.span(now + 21)]))
    assert rows(LIFETIMES, cluster) == [
        ("a", now, now + 10, "lost", "closed"),
        ("b", now + 20, None, "", "running"),
    ]
    late = make.span(now + 5)  # arrives after the address has a new worker
    writer.write(Batch.of(cluster, spans=[late]))
    assert rows(LANES, cluster) == [("a", 140_001, 0, 2), ("b", 140_001, 0, 1)]


def test_what_a_dead_process_recorded_itself_is_added_to_its_lifetime_which_stays_closed(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    facts = "SELECT detail->>'python' FROM worker WHERE cluster_id = %s ORDER BY started"
    writer.write(Batch.of(cluster, workers=[make.worker(now, detail={"pid": 7})]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 1, "lost")]))
    detail = {"pid": 7, "python": "3.13"}
    for late in (now + 0.5, now - 0.25):  # workers are set up shortly before the scheduler knows them
        writer.write(Batch.of(cluster, workers=[make.worker(late, status="running", detail=detail)]))
    assert rows(LIFETIMES, cluster) == [("w0", now - 0.25, now + 1, "lost", "closed")]
    assert rows(facts, cluster) == [("3.13",)]


def test_what_a_dead_process_recorded_itself_is_not_told_of_the_next_one_at_its_address(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now, name="a")]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 1, "lost")]))
    writer.write(Batch.of(cluster, workers=[make.worker(now + 5, name="b")]))
    writer.write(Batch.of(cluster, workers=[make.worker(now + 0.5, name="a late")]))
    assert rows(LIFETIMES, cluster) == [
        ("a late", now, now + 1, "lost", "closed"),
        ("b", now + 5, None, "", "running"),
    ]


def test_another_process_at_an_address_is_another_worker_also_when_the_end_of_the_first_was_noticed_late(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now, name="a", detail={"pid": 7})]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "lost")]))
    writer.write(Batch.of(cluster, workers=[make.worker(now + 9, name="b", detail={"pid": 8})]))
    assert rows(LIFETIMES, cluster) == [
        ("a", now, now + 10, "lost", "closed"),
        ("b", now + 9, None, "", "running"),
    ]


def test_a_worker_can_leave_and_another_take_its_address_in_one_batch(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now, name="a")]))
    batch = Batch.of(
        cluster,
        workers=[make.worker(now + 5, name="b")],
        gone=[WorkerGone(make.address, now + 5, "removed")],
        spans=[make.span(now + 4), make.span(now + 6)],
    )
    writer.write(batch)
    assert [row[:3] for row in rows(LIFETIMES, cluster)] == [("a", now, now + 5), ("b", now + 5, None)]
    assert rows(LANES, cluster) == [("a", 140_001, 0, 1), ("b", 140_001, 0, 1)]


def test_a_span_that_arrives_after_its_worker_is_gone_belongs_to_it(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "removed")]))
    with Writer() as another:
        another.write(Batch.of(cluster, spans=[make.span(now + 9)]))
    assert rows(LIFETIMES, cluster) == [("w0", now, now + 10, "removed", "closed")]
    assert rows(LANES, cluster) == [("w0", 140_001, 0, 1)]


def test_samples_and_logs_of_a_dead_process_belong_to_it_until_another_is_seen(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    log = (now + 40, "nanny", make.address, 30, "distributed.nanny", "Restarting worker", "", 7)
    writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "lost")]))
    writer.write(Batch.of(cluster, samples=[make.sample(now + 30, worker=make.address)], rows={"log": [log]}))
    assert rows(LIFETIMES, cluster) == [("w0", now, now + 10, "lost", "closed")]
    logged = "SELECT worker.name FROM log LEFT JOIN worker ON worker.id = worker_id WHERE log.cluster_id = %s"
    assert rows(logged, cluster) == [("w0",)]
    writer.write(Batch.of(cluster, workers=[make.worker(now + 50, name="w1")]))
    writer.write(Batch.of(cluster, samples=[make.sample(now + 51, worker=make.address)]))
    assert [row[0] for row in rows(LIFETIMES, cluster)] == ["w0", "w1"]


def test_all_lifetimes_end_with_their_cluster_those_that_nobody_reported_too(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    end = Event(now + 20, "cluster-ended", "", {"message": "gone"})
    with Writer() as another:
        another.write(Batch.of(cluster, samples=[make.sample(now + 1, worker="tcp://other:1")], events=[end]))
    assert rows(LIFETIMES, cluster) == [
        ("w0", now, now + 20, "cluster-ended", "running"),
        ("", now + 1, now + 20, "cluster-ended", "running"),
    ]


def test_a_worker_goes_on_living_when_its_cluster_was_only_silent(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    writer.write(Batch.of(cluster, events=[Event(now + 20, "cluster-ended", "", {"message": "silent"})]))
    writer.write(Batch.of(cluster, samples=[make.sample(now + 200, worker=make.address)]))
    assert rows(LIFETIMES, cluster) == [("w0", now, None, "", "running")]


def test_nothing_is_lost_of_a_worker_that_nobody_saw(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    committed = writer.write(
        Batch.of(cluster, spans=[make.span(now)], samples=[make.sample(now, worker="tcp://other:1")])
    )
    assert committed.extent.workers == 2
    assert [row[:3] for row in rows(LIFETIMES, cluster)] == [("", now, None), ("", now, None)]
    writer.write(Batch.of(cluster, workers=[make.worker(now + 1, name="seen late")]))
    names = rows("SELECT name, count(*) FROM worker WHERE cluster_id = %s GROUP BY 1 ORDER BY 1", cluster)
    assert names == [("", 1), ("seen late", 1)]


def test_a_worker_started_no_later_than_its_first_span(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    writer.write(Batch.of(cluster, workers=[make.worker(now)]))
    writer.write(Batch.of(cluster, spans=[make.span(now - 0.75)]))
    assert rows(LIFETIMES, cluster) == [("w0", now - 0.75, None, "", "running")]


def test_lanes_are_numbered_as_they_appear(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    for index, thread in enumerate([70, 50, 60, 50, -1]):
        writer.write(Batch.of(cluster, spans=[make.span(now + index, thread=thread)]))
    assert rows("SELECT thread, position FROM lane WHERE cluster_id = %s ORDER BY position", cluster) == [
        (70, 0), (50, 1), (60, 2), (-1, 3)]  # fmt: skip


def test_a_series_of_a_new_lifetime_is_another_series(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    sample = make.sample(now, worker=make.address)
    writer.write(Batch.of(cluster, workers=[make.worker(now)], samples=[sample]))
    writer.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "lost")]))
    writer.write(
        Batch.of(
            cluster, workers=[make.worker(now + 20)], samples=[make.sample(now + 21, worker=make.address)]
        )
    )
    assert rows("SELECT count(DISTINCT worker_id), count(*) FROM series WHERE cluster_id = %s", cluster) == [
        (2, 2)
    ]


def test_another_writer_that_took_over_is_noticed(rows: Rows, cluster: int, now: float, make: Any) -> None:
    with Writer() as first, Writer() as second:
        first.write(Batch.of(cluster, workers=[make.worker(now, name="a")], spans=[make.span(now)]))
        second.write(Batch.of(cluster, gone=[WorkerGone(make.address, now + 10, "lost")]))
        first.write(Batch.of(cluster, workers=[make.worker(now + 20, name="b")], spans=[make.span(now + 21)]))
    assert [row[:3] for row in rows(LIFETIMES, cluster)] == [("a", now, now + 10), ("b", now + 20, None)]
    assert rows(LANES, cluster) == [("a", 140_001, 0, 1), ("b", 140_001, 0, 1)]


def test_lifetimes_with_one_name_or_nanny_fill_one_slot(
    writer: Writer, connection: psycopg.Connection, cluster: int, now: float, make: Any
) -> None:
    nanny = {"nanny": "tcp://127.0.0.1:4999"}
    seen = [
        make.worker(now, "tcp://h:1", name="w0", detail={"nanny": "tcp://h:8"}),
        make.worker(now + 1, "tcp://h:2", name="w0", detail={"nanny": "tcp://h:9"}),
        make.worker(now + 2, "tcp://h:3", name="tcp://h:3", detail=nanny),
        make.worker(now + 3, "tcp://h:4", name="", detail=nanny),
        make.worker(now + 4, "tcp://h:5", name="tcp://h:5"),
    ]
    live = writer.write(Batch.of(cluster, workers=seen)).workers
    slots = ["w0", "w0", nanny["nanny"], nanny["nanny"], "tcp://h:5"]
    assert [item["slot"] for item in live] == slots
    assert [item["slot"] for item in read_dimensions(connection, cluster, []).workers] == slots
