"""Records that come after their time was taken for complete are noted, once and by the way."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.late_records import LATENESS, take_late, with_late
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.store.conftest import Make


def taken(cluster: int) -> datetime | None:
    with transaction.atomic():
        return take_late([cluster]).get(cluster)


def test_what_comes_in_order_is_not_noted(writer: Writer, cluster: int, make: type[Make], now: float) -> None:
    writer.write(Batch.of(cluster, samples=[make.sample(now - 3_600)], committed=now))
    writer.write(Batch.of(cluster, samples=[make.sample(now - LATENESS + 0.1)], committed=now + 1))
    writer.write(Batch.of(cluster, samples=[make.sample(now + 2)], events=[Event(now - 2, "restarted")]))
    assert cluster not in with_late()


def test_the_earliest_late_record_of_each_batch_is_noted_and_taken_once(
    writer: Writer, cluster: int, make: type[Make], now: float
) -> None:
    writer.write(Batch.of(cluster, committed=now))
    late = [make.sample(now - 10), make.sample(now - 20), make.sample(now)]
    writer.write(Batch.of(cluster, samples=late))
    writer.write(Batch.of(cluster, events=[Event(now - 15, "restarted")]))
    assert cluster in with_late()
    assert taken(cluster) == from_seconds(now - 20)
    assert taken(cluster) is None


def test_late_spans_are_nothing_to_alerts(writer: Writer, cluster: int, make: type[Make], now: float) -> None:
    writer.write(Batch.of(cluster, committed=now))
    writer.write(Batch.of(cluster, spans=[make.span(now - 600, stop=now)]))
    assert cluster not in with_late()


def test_a_note_that_was_taken_in_a_transaction_that_fails_is_still_there(
    writer: Writer, cluster: int, make: type[Make], now: float
) -> None:
    writer.write(Batch.of(cluster, committed=now))
    writer.write(Batch.of(cluster, samples=[make.sample(now - 60)]))
    with transaction.atomic():
        take_late([cluster])
        transaction.set_rollback(True)
    assert cluster in with_late()
