"""What the data causes costs the rows that cause it; what the database causes costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from observatory.store.connection import is_unavailable
from observatory.store.ingest import refused_rows
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.refused_rows import is_caused_by_data
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Event, WorkerGone
from tests.support.outages import failing

Rows = Callable[..., list[tuple[Any, ...]]]

MARKS = """SELECT detail->>'kind', (detail->>'count')::int, detail->>'reason',
                  (detail->>'first')::float8, (detail->>'last')::float8
           FROM event WHERE kind = 'records-dropped' AND cluster_id = %s ORDER BY 1"""


def some_spans(make: Any, now: float, count: int) -> list[Any]:
    return [make.span(now + index, key=f"('inc-0a1b', {index})", nbytes=index) for index in range(count)]


@pytest.mark.parametrize("state", ["22003", "22021", "22P03", "23502", "23505", "23514", "54000"])
def test_one_row_that_the_data_makes_fail_costs_one_row(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, state: str
) -> None:
    batch = Batch.of(
        cluster, [make.worker(now)], some_spans(make, now, 500), [make.sample(now)], committed=now, errors=3
    )
    with failing(cluster, "NEW.nbytes = 333", state):
        committed = writer.write(batch)
    assert committed.dropped == {"span": 1}
    stored = rows("SELECT nbytes FROM span WHERE cluster_id = %s ORDER BY 1", cluster)
    assert stored == [(index,) for index in range(500) if index != 333]
    assert rows("SELECT count(*) FROM sample WHERE cluster_id = %s", cluster) == [(1,)]
    assert rows("SELECT spans, errors, workers FROM extent WHERE cluster_id = %s", cluster) == [(499, 3, 1)]
    stop = now + 333.5
    assert rows(MARKS, cluster) == [("span", 1, "database-refused", stop, stop)]
    assert committed.spans is not None
    assert len(committed.spans) == 499
    writer.write(Batch.of(cluster, spans=[make.span(now + 900)]))
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(500,)]


@pytest.mark.parametrize(
    "state",
    ["25006", "42501", "42P01", "53100", "53300", "55P03", "40P01", "40001", "57014", "57P01", "P0001"],
)
def test_a_batch_that_fails_for_another_reason_loses_nothing(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, state: str
) -> None:
    batch = Batch.of(cluster, spans=some_spans(make, now, 20), samples=[make.sample(now)], errors=1)
    with failing(cluster, "NEW.nbytes = 7", state):
        for _ in range(2):
            with pytest.raises(psycopg.Error) as caught:
                writer.write(batch)
            assert caught.value.sqlstate == state
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(0,)]
    assert writer.write(batch).dropped == {}
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(20,)]
    assert rows("SELECT errors FROM extent WHERE cluster_id = %s", cluster) == [(1,)]
    assert rows(MARKS, cluster) == []


@pytest.mark.parametrize("text", ["a\0b", "lone \ud800 surrogate"])
def test_a_text_that_cannot_be_sent_costs_its_rows(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, text: str
) -> None:
    """No source leaves such a text in: here one slips through."""
    lines = [(now + place, "worker", "", 30, "dask", name, "", 1) for place, name in enumerate("abc")]
    batch = Batch.of(cluster, rows={"log": lines})
    logs = batch.records["log"]
    odd = logs.coded("message").map(lambda name: text if name == "b" else name)
    slipped = replace(batch, records={"log": logs.changed(message=odd)})
    assert writer.write(slipped).dropped == {"log": 1}
    assert rows("SELECT message FROM log WHERE cluster_id = %s ORDER BY 1", cluster) == [("a",), ("c",)]
    assert rows(MARKS, cluster) == [("log", 1, "database-refused", now + 1, now + 1)]


def test_rows_of_every_kind_are_refused_singly(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    """Events and changes of workers are stored by other statements than COPY."""
    batch = Batch.of(
        cluster,
        workers=[make.worker(now, f"tcp://10.0.0.{number}:1") for number in range(5)],
        gone=[WorkerGone("tcp://10.0.0.2:1", now + 5, "lost")],
        events=[Event(now + number, "restarted", "", {"number": number}) for number in range(5)],
    )
    with failing(cluster, "NEW.address = 'tcp://10.0.0.3:1'", "22001", "worker"):
        assert writer.write(batch).dropped == {"worker": 1}
    addresses = rows("SELECT address, end_reason FROM worker WHERE cluster_id = %s ORDER BY 1", cluster)
    assert addresses == [
        (f"tcp://10.0.0.{number}:1", "lost" if number == 2 else "") for number in (0, 1, 2, 4)
    ]
    with failing(cluster, "NEW.detail->>'number' = '8'", "22030", "event"):
        events = [Event(now + number, "restarted", "", {"number": number}) for number in range(6, 10)]
        assert writer.write(Batch.of(cluster, events=events)).dropped == {"event": 1}
    assert rows("SELECT count(*) FROM event WHERE cluster_id = %s AND kind = 'restarted'", cluster) == [(8,)]
    assert [mark[:2] for mark in rows(MARKS, cluster)] == [("event", 1), ("worker", 1)]


def test_many_bad_rows_are_found_each(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    with failing(cluster, "NEW.nbytes % 97 = 5", "22003"):
        committed = writer.write(Batch.of(cluster, spans=some_spans(make, now, 1_000)))
    bad = sum(index % 97 == 5 for index in range(1_000))
    assert committed.dropped == {"span": bad}
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(1_000 - bad,)]
    assert rows(MARKS, cluster)[0][1] == bad


def test_when_all_rows_are_bad_the_work_is_bounded(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_rows, "MOST_TRIALS", 50)
    trials = []
    written = writer._write_knowing

    def counted(*given: Any, **options: Any) -> Any:
        trials.append(options)
        return written(*given, **options)

    monkeypatch.setattr(writer, "_write_knowing", counted)
    with failing(cluster, "true", "22003"):
        committed = writer.write(
            Batch.of(cluster, spans=some_spans(make, now, 1_000), samples=[make.sample(now)])
        )
    assert committed.dropped == {"span": 1_000}
    assert rows("SELECT count(*) FROM sample WHERE cluster_id = %s", cluster) == [(1,)]
    assert len(trials) < 60


def test_a_refusal_that_no_row_causes_is_not_blamed_on_rows(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    batch = Batch.of(cluster, spans=some_spans(make, now, 10))
    connection.execute(
        f"ALTER TABLE extent ADD CONSTRAINT closed CHECK (cluster_id <> {cluster} OR sequence = 0)"
    )
    try:
        with pytest.raises(psycopg.errors.CheckViolation):
            writer.write(batch)
    finally:
        connection.execute("ALTER TABLE extent DROP CONSTRAINT closed")
    assert writer.write(batch).dropped == {}
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(10,)]


def test_a_constraint_that_is_checked_at_the_commit_is_tried_too(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    connection.execute(
        f"""CREATE FUNCTION fail_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.cluster_id = {cluster} AND NEW.address = 'bad' THEN
                RAISE EXCEPTION 'made to fail' USING ERRCODE = '23503';
            END IF; RETURN NULL; END $$"""
    )
    connection.execute(
        """CREATE CONSTRAINT TRIGGER fail_late AFTER INSERT ON worker DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW EXECUTE FUNCTION fail_late()"""
    )
    try:
        workers = [make.worker(now, "bad"), make.worker(now, "good")]
        assert writer.write(Batch.of(cluster, workers)).dropped == {"worker": 1}
    finally:
        connection.execute("DROP FUNCTION fail_late CASCADE")
    assert rows("SELECT address FROM worker WHERE cluster_id = %s", cluster) == [("good",)]


@pytest.mark.usefixtures("new_connections")
def test_a_session_that_began_read_only_is_replaced(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any
) -> None:
    """As one that leads to a former primary: it would stay read-only after the outage."""
    batch = Batch.of(cluster, spans=some_spans(make, now, 10))
    writer.write(Batch.of(cluster, spans=[make.span(now - 1)]))
    assert writer._connection is not None
    writer._connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        writer.write(batch)
    writer.write(batch)
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(11,)]


def test_a_partition_that_is_gone_is_not_the_fault_of_the_data(
    writer: Writer, rows: Rows, cluster: int, now: float, make: Any, connection: psycopg.Connection
) -> None:
    # a day that no other test's records are on
    start = now - 300 * 86_400
    writer.write(Batch.of(cluster, spans=[make.span(start)]))
    partitions = rows("SELECT DISTINCT tableoid::regclass::text FROM span WHERE cluster_id = %s", cluster)
    if partitions == [("span",)]:
        pytest.skip("TimescaleDB makes its chunks")
    connection.execute(f"DROP TABLE {partitions[0][0]}")
    committed = writer.write(Batch.of(cluster, spans=[make.span(start), make.span(start + 1)]))
    assert committed.dropped == {}
    assert rows("SELECT count(*) FROM span WHERE cluster_id = %s", cluster) == [(2,)]


def test_errors_are_told_apart() -> None:
    assert is_caused_by_data(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"))
    assert is_caused_by_data(OverflowError())
    assert is_caused_by_data(psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"))
    assert not is_caused_by_data(KeyError("a mistake of ours"))
    assert not is_caused_by_data(psycopg.OperationalError("server closed the connection unexpectedly"))
    assert is_unavailable(psycopg.errors.ReadOnlySqlTransaction())
    assert is_unavailable(psycopg.errors.DiskFull())
    assert not is_unavailable(psycopg.errors.InsufficientPrivilege())
