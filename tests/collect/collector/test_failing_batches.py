"""Batches that can't be stored: nothing is lost while they wait, and refused ones do not block others."""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.utils import timezone

from observatory.clusters.models import Cluster, Project
from observatory.collect.collector.writing.outbox import (
    RECORD_BYTES,
)
from observatory.collect.quarantine import patience
from observatory.collect.quarantine.folder import files
from observatory.store.connection import connect
from observatory.store.outages import free_space
from observatory.wire.dropped_records import DropReason
from observatory.wire.records import Event, Sample, Series
from tests.collect.collector.outputs import CLUSTER, WORKER, Output, dropped_events, output, seen, span
from tests.collect.observer import read
from tests.support.outages import failing, read_only_database

__all__ = ["output"]

pytestmark = pytest.mark.usefixtures("store")


async def test_a_record_that_cannot_be_stored_costs_itself_and_is_told(output: Output) -> None:
    now = time.time()
    output.outbox.add(span(now - 4))
    output.outbox.add(span(now - 3)._replace(nbytes="many"))  # type: ignore[arg-type]
    output.outbox.add(Sample(Series("memory"), now, 10**400))
    output.outbox.add(Sample(Series("memory"), now, 1.0))
    output.outbox.add(span(now - 2))
    assert await output.flusher.flush()
    assert output.counters.records_dropped == 2
    assert await read("SELECT count(*) FROM span") == [(2,)]
    assert await read("SELECT value FROM sample") == [(1.0,)]
    lost = [found[:3] for found in await dropped_events()]
    assert lost == [("sample", 1, "database-refused"), ("span", 1, "database-refused")]


@pytest.mark.usefixtures("new_connections")
async def test_nothing_is_lost_while_the_database_is_read_only(output: Output) -> None:
    now = time.time()
    output.outbox.add(span(now - 9))
    assert await output.flusher.flush()
    with read_only_database():
        for number in range(5):
            output.outbox.add(span(now - 8 + number))
            assert not await output.flusher.flush()
        assert output.outbox.explain() == "database-unavailable"
    assert await output.flusher.flush()
    assert await read("SELECT count(*) FROM span") == [(6,)]
    assert await read("SELECT spans FROM extent") == [(6,)]
    assert output.counters.records_dropped == 0
    assert await dropped_events() == []


@pytest.mark.usefixtures("new_connections")
async def test_what_is_dropped_in_an_outage_is_told_after_it_though_the_reports_had_to_wait(
    output: Output,
) -> None:
    """The reports wait in the same queue that overflows again and again."""
    now = float(int(time.time()))
    output.outbox.add(span(now - 400))
    with read_only_database():
        assert not await output.flusher.flush()
        output.outbox.capacity = 10 * RECORD_BYTES
        for number in range(300):
            output.outbox.add(Event(now - 300 + number, "restarted"))
            output.outbox.dropped.since -= 100
            if number % 50 == 0:
                assert not await output.flusher.flush()
    lost = output.counters.records_dropped
    assert 250 < lost < 300
    for _ in range(3):
        assert await output.flusher.flush()
    [(kind, count, reason, first, last)] = await dropped_events()
    assert (kind, count, reason, first) == ("event", lost, "database-unavailable", now - 300)
    assert last == now - 300 + lost - 1
    [(stored,)] = await read("SELECT count(*) FROM event WHERE kind = 'restarted'")
    assert stored == 300 - lost


async def test_a_report_that_waits_is_not_dropped_when_the_queue_overflows(output: Output) -> None:
    now = float(int(time.time()))
    output.outbox.dropped.add(CLUSTER, "span", DropReason.DATABASE_SLOW, [now - 50, now - 40])
    output.outbox.report_dropped()
    output.outbox.capacity = 5 * RECORD_BYTES
    for number in range(50):
        output.outbox.add(Event(now - number, "restarted"))
    for _ in range(3):
        assert await output.flusher.flush()
    told = await dropped_events()
    assert ("span", 2, "database-slow", now - 50, now - 40) in told


async def test_a_batch_that_fails_while_others_could_be_stored_goes_into_quarantine_and_comes_back(
    output: Output, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    clock = [time.monotonic()]
    monkeypatch.setattr(patience, "monotonic", lambda: clock[0])
    now = float(int(time.time()))
    project = await sync_to_async(Project.objects.create)(name="Tests", slug="tests")
    await sync_to_async(Cluster.objects.create)(
        pk=CLUSTER,
        project=project,
        scheduler_id="s",
        name="c",
        started=timezone.now(),
        last_seen=timezone.now(),
    )
    output.outbox.add(seen(now - 20))
    output.outbox.add(span(now - 10, nbytes=666))
    output.outbox.add(Sample(Series("memory", (("type", "process"),), WORKER), now - 10, 5.0))
    output.outbox.add(Event(now - 10, "restarted", "", {"message": "again"}))
    output.outbox.add_errors(4)
    with failing(CLUSTER, "NEW.nbytes = 666", "P0001"):
        assert not await output.flusher.flush()
        output.outbox.add(span(now - 5))
        clock[0] += patience.PATIENCE - 1
        assert not await output.flusher.flush()
        assert files() == []
        clock[0] += 2
        assert await output.flusher.flush()
        assert await read("SELECT nbytes FROM span") == [(1,)], "the next batch is stored"
        assert output.counters.batches_quarantined == 1
        assert output.counters.records_dropped == 0
        await output.flusher.flush()
        told = {kind: (count, reason) for kind, count, reason, *_ in await dropped_events()}
        assert told == dict.fromkeys(("span", "sample", "event", "worker"), (1, "quarantined"))
        [path] = files()
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(CommandError, match="1 batches are still in quarantine"):
            await sync_to_async(call_command)("quarantine", retry=True)
        assert files() == [path]
    listing, retried = StringIO(), StringIO()
    await sync_to_async(call_command)("quarantine", stdout=listing)
    assert f"4 records of cluster {CLUSTER}" in listing.getvalue()
    assert "RaiseException: made to fail" in listing.getvalue()
    await sync_to_async(call_command)("quarantine", retry=True, stdout=retried)
    assert "4 records stored" in retried.getvalue()
    assert files() == []
    assert await read("SELECT nbytes FROM span ORDER BY 1") == [(1,), (666,)]
    assert await read("SELECT value FROM sample") == [(5.0,)]
    assert await read("SELECT detail->>'message' FROM event WHERE kind = 'restarted'") == [("again",)]
    assert await read("SELECT name FROM worker WHERE name = 'w'") == [("w",)]
    assert await read("SELECT errors, spans FROM extent") == [(4, 2)]


@pytest.mark.usefixtures("new_connections")
async def test_a_batch_waits_however_long_the_database_is_read_only(
    output: Output, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    output.outbox.add(span(time.time() - 9))
    with read_only_database():
        for _ in range(3):
            assert not await output.flusher.flush()
    assert files() == []
    assert await output.flusher.flush()
    assert await read("SELECT count(*) FROM span") == [(1,)]


async def test_a_batch_waits_while_the_database_accepts_no_batch_of_its_kind(
    output: Output, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is missing, or that must not be written, is the database's fault."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    output.outbox.add(span(time.time() - 9))
    with connect() as connection:
        connection.execute("ALTER TABLE span RENAME TO elsewhere")
        try:
            for _ in range(3):
                assert not await output.flusher.flush()
            fault = await sync_to_async(free_space.database_fault)()
            assert fault == 'relation "span" does not exist'
        finally:
            connection.execute("ALTER TABLE elsewhere RENAME TO span")
    assert files() == []
    assert await output.flusher.flush()
    assert await read("SELECT count(*) FROM span") == [(1,)]


async def test_a_batch_that_no_file_can_hold_is_dropped_and_told(
    output: Output, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path / "file"
    settings.DATA_DIR.write_text("no folder")
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    output.outbox.add(span(time.time() - 9, nbytes=666))
    with failing(CLUSTER, "NEW.nbytes = 666", "P0001"):
        assert await output.flusher.flush()
    assert output.counters.records_dropped == 1
    assert await output.flusher.flush()
    assert [found[:3] for found in await dropped_events()] == [("span", 1, "database-refused")]
