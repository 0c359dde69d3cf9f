"""What scans of files find is what queries of the tables do, and no kind is brought back for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory.alerts.evaluation.back_test import back_test
from observatory.alerts.rules.conditions import (
    Aggregate,
    By,
    Comparison,
    EventCondition,
    MetricCondition,
    NoData,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.pages.logs import views
from observatory.replay.lineage import lineage_of
from observatory.replay.logs.counts import log_counts
from observatory.replay.logs.search import (
    LogPage,
    Wanted,
    listed_lines,
    parse_cursor,
    search_around,
    search_from,
)
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import ALL_SECTIONS, Scope, Section
from observatory.replay.task_history import error_with_id, task_history, worker_last_minutes
from observatory.replay.task_search import Position, search_tasks
from observatory.replay.task_search import Wanted as WantedTasks
from observatory.store.archive import presence
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans.bloom_filters import may_have_any, xxh64
from observatory.store.archive.scans.conditions import AtLeast, Condition
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.places.askers import ASKER, Asker, AskerGone
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.named_records import Wanted as WantedRecords
from observatory.store.queries.named_records import page, record_kinds, scanned_conditions
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles
from observatory.store.reading.scanning import scanned
from observatory.store.times import from_seconds
from observatory.wire.records import Event
from tests.store.archive.conftest import Archive, remove_unused
from tests.store.archive.long_history import (
    FIRST,
    RARE,
    SECOND,
    START,
    STEP,
    STEPS,
    key_of,
)
from tests.support.projects import World

Read = Callable[[psycopg.Connection, Cluster], Any]
NEWEST = 136
"""the last step of its group that computed"""
MIDDLE = round((START + STEPS * STEP / 2) * 1e6)
LOGS = {
    "all": Wanted(),
    "a word": Wanted(match="paused"),
    "of a traceback": Wanted(match="zerodivision"),
    "that occurs once": Wanted(match="NEEDLE"),
    "that does not occur": Wanted(match="nowhere"),
    "special characters": Wanted(match="[A+B] \\D"),
    "other letters": Wanted(match="köln"),
    "İ, whose small letter is i": Wanted(match="istanbul"),
    "a regular expression": Wanted(match=r"order \d+5 is|needle", is_regex=True),
    "a level": Wanted(level=30),
    "a process": Wanted(role="nanny"),
    "a worker": Wanted(worker="W1", match="done"),
    "a logger": Wanted(logger="distributed"),
    "a window": Wanted(start=MIDDLE - 10**10, stop=MIDDLE, match="failed"),
}
FILTERS = {
    "all": LogFilter(),
    "a word": LogFilter(text="PAUSED"),
    "a worker by name and address": LogFilter(worker="w1 tcp"),
    "a logger": LogFilter(logger="etl"),
    "a window": LogFilter(level=20, start=from_seconds(START + 5_000), stop=from_seconds(START + 20_000)),
}
MEMORY = Selector("observatory_worker_memory_bytes")
TOO_MUCH = MetricCondition(MEMORY, By.WORKER, Aggregate.MAX, Comparison.ABOVE, 40.0)
RULES = (
    RuleSpec((TOO_MUCH,)),
    RuleSpec((replace(TOO_MUCH, comparison=Comparison.ABSENT),), hold=30),
    RuleSpec((TOO_MUCH,), no_data=NoData.FIRE),
    RuleSpec((EventCondition("log", By.WORKER, window=300, pattern="Paused", level=20),)),
    RuleSpec((EventCondition("task-erred", By.CLUSTER, window=500),)),
)
TASKS = {
    "a group": WantedTasks("load-3"),
    "a part of keys": WantedTasks(", 12"),
    "a whole key": WantedTasks(key_of(123)),
    "nothing": WantedTasks("nowhere"),
    "those that did not compute": WantedTasks("load", only_not_computed=True),
    "a window": WantedTasks("load", round((START + 3_000) * 1e6), MIDDLE),
}


def _scopes(cluster: Cluster) -> Iterator[Scope]:
    yield Scope(cluster)
    yield Scope(cluster, start=MIDDLE - 5 * 10**9, stop=MIDDLE + 5 * 10**9)
    yield Scope(cluster, sections=ALL_SECTIONS - {Section.TRACEBACKS})
    yield replace(Scope(cluster), pseudonyms=read_pseudonyms(cluster))


def _pages(connection: psycopg.Connection, scope: Scope, wanted: Wanted) -> list[LogPage]:
    """The lines about an instant, and all pages before and after it."""
    pages = [search_around(connection, scope, wanted, MIDDLE, 15)]
    for goes_back in (True, False):
        page = pages[0]
        while text := page.older if goes_back else page.newer:
            cursor = parse_cursor(text)
            assert cursor is not None
            page = search_from(connection, scope, wanted, cursor, 40, goes_back=goes_back)
            pages.append(page)
    return pages


def _lines(connection: psycopg.Connection, cluster: Cluster) -> Any:
    return {
        (name, place): [page.lines for page in _pages(connection, scope, wanted)]
        for name, wanted in LOGS.items()
        for place, scope in enumerate(_scopes(cluster))
    }


def _counts(connection: psycopg.Connection, cluster: Cluster) -> Any:
    return [
        log_counts(connection, scope, wanted)
        for wanted in (*LOGS.values(), Wanted(role="worker"), Wanted(start=MIDDLE, stop=MIDDLE + 10**8))
        for scope in _scopes(cluster)
    ]


def _lists(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = {}
    for name, filters in FILTERS.items():
        for goes_back in (True, False):
            of_pages, cursor = [], None
            while lines := listed_lines(connection, cluster.pk, filters, 30, cursor, goes_back=goes_back)[0]:
                of_pages.append(lines)
                last = lines[-1] if goes_back else lines[0]
                cursor = last.time, last.hash
            found[name, goes_back] = of_pages
    return found


def _tasks(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found: dict[str, list[Any]] = {}
    for name, wanted in TASKS.items():
        position: Position | None = None
        while not found.get(name) or position:
            page = search_tasks(connection, cluster.pk, wanted, 20, position)
            found.setdefault(name, []).append(page.tasks)
            position = page.older
    return found


def _stories(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = []
    for step in (0, RARE, 13, 100, STEPS - 1):
        with snapshot(connection):
            found.append(task_history(connection, cluster.pk, key_of(step)))
    return found


def _errors(connection: psycopg.Connection, cluster: Cluster) -> Any:
    with snapshot(connection):
        story = task_history(connection, cluster.pk, key_of(RARE))
        error = error_with_id(connection, cluster.pk, story.errors[0].id)
        assert error is not None
        minutes = worker_last_minutes(connection, cluster.pk, error, story.transitions)
    assert all((minutes[0].memory, minutes[0].lines, minutes[0].events))
    return error, minutes


def _lineages(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = []
    for step in (0, RARE, 13, 100, STEPS - 1):
        for scope in (Scope(cluster), Scope(cluster, start=MIDDLE - 10**10, stop=MIDDLE + 10**10)):
            with snapshot(connection):
                found.append(lineage_of(connection, scope, key_of(step)))
    whole = found[2]
    assert all(whole[part] for part in ("spans", "dependencies", "dependents", "transfers", "steals"))
    return found


def _records(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = {}
    for kind, columns in RECORDS.items():
        named = record_kinds()[kind]
        for column, value in columns.items():
            wanted = WantedRecords(column, [value])
            conditions = scanned_conditions(named, *TIMES, wanted)
            with scanned(connection, cluster.pk, conditions):
                rows = page(connection, named, cluster.pk, *TIMES, list(named.columns), 1_000, None, wanted)
            assert rows[0], (kind, column)
            found[kind, column] = rows
    return found


def _back_tests(connection: psycopg.Connection, cluster: Cluster) -> Any:
    found = [back_test(cluster, spec, START, START + STEPS * STEP) for spec in RULES]
    assert all(each.firings for each in found)
    return [
        (
            each.durations,
            each.too_short,
            [
                (result.outcome.subject, result.outcome.times.tolist(), str(result.outcome.values.tolist()))
                for result in each.results
            ],
        )
        for each in found
    ]


TIMES = round(START * 1e6), round((START + STEPS * STEP) * 1e6)
RECORDS = {
    "span": {"key": key_of(RARE), "action": "transfer", "worker": SECOND, "status": "error"},
    "transition": {"key": key_of(100), "finish": "erred"},
    "error": {"key": key_of(RARE), "exception_type": "ZeroDivisionError"},
    "log": {"message": "A Needle in hay", "role": "nanny"},
    "dependency": {"depends_on": key_of(RARE)},
    "sample": {"metric": "dask_worker_tasks"},
    "transfer": {"peer": FIRST},
}
READS = {
    "log lines": _lines,
    "counts of log lines": _counts,
    "lists of log lines": _lists,
    "tasks": _tasks,
    "stories": _stories,
    "lineages": _lineages,
    "records of one value": _records,
    "an error": _errors,
    "back-tests": _back_tests,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_scans_give_the_same_answers_as_tables_and_bring_nothing_back(
    read: Read, connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    with connect_reader() as reader:
        expected = read(reader, recorded)
        archive_round()
        assert remove_unused(connection, recorded.pk) > 0
        removed = presence.removed_kinds(connection, recorded.pk)
        assert read(reader, recorded) == expected
        assert presence.removed_kinds(connection, recorded.pk) == removed
        assert reader.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_late_records_are_found_beside_archived_ones(
    read: Read, connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    with Writer() as writer:
        writer.write(Batch.of(recorded.pk, events=[Event(START + RARE * STEP + 1, "restarted", SECOND, {})]))
    with connect_reader() as reader:
        found = read(reader, recorded)
    with connect_reader() as reader:  # they are in their tables by now
        assert found == read(reader, recorded)


def test_pages_of_archived_records_bring_nothing_back(
    connection: psycopg.Connection, recorded: Cluster, folder: object, world: World
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    removed = presence.removed_kinds(connection, recorded.pk)
    with connect_reader() as reader, snapshot(reader):
        [error, *_] = task_history(reader, recorded.pk, key_of(RARE)).errors
    pages = {
        "/search?q=load-3": key_of(NEWEST),
        f"/clusters/{recorded.pk}/tasks/?q=load-3": key_of(NEWEST),
        f"/clusters/{recorded.pk}/tasks/?key={quote(key_of(RARE))}": "ZeroDivisionError",
        f"/clusters/{recorded.pk}/errors/{error.id}": f"order {RARE} is done",
        f"/clusters/{recorded.pk}/logs/?text=needle": "A Needle in hay",
        f"/api/v1/clusters/{recorded.pk}/logs?match=needle": "A Needle in hay",
        f"/api/v1/clusters/{recorded.pk}/log-counts?match=needle": "counts",
        "/api/v1/search?q=load-3": "load-3",
    }
    for path, text in pages.items():
        answer = world.client("owner").get(path, follow=True)
        assert answer.status_code == 200, path
        assert text in unescape(answer.content.decode()), path
        assert presence.removed_kinds(connection, recorded.pk) == removed, path
    assert world.client("outsider").get(f"/clusters/{recorded.pk}/logs/?text=needle").status_code == 404
    found = world.client("outsider").get("/search?q=load-3", follow=True).content.decode()
    assert key_of(NEWEST) not in unescape(found)


def test_filters_of_files_know_all_of_their_values(tmp_path: Path) -> None:
    keys = [key_of(step) for step in range(2_000)]
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": keys}), path, bloom_filter_options={"key": {"ndv": 2_000, "fpp": 0.05}})
    column = pq.read_metadata(path).row_group(0).column(0)
    with pa.OSFile(str(path)) as stream:
        assert all(may_have_any(stream, column, [key]) for key in keys)
        assert sum(may_have_any(stream, column, [f"{key} "]) for key in keys) < 200


@pytest.mark.parametrize(
    ("data", "hashed"),
    [(b"", 0xEF46DB3751D8E999), (b"abc", 0x44BC2CF5AD770999), (b"a", 0xD24EC4F1A98C6E5B)],
)
def test_texts_are_hashed_as_xxhash_does(data: bytes, hashed: int) -> None:
    assert xxh64(data) == hashed


def test_what_is_found_beyond_a_limit_is_brought_back(
    connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    query = "SELECT count(*) FROM log WHERE cluster_id = %(cluster)s"
    with connect_reader() as reader:
        with scanned(reader, recorded.pk, {"log": Condition((AtLeast("level", 40),))}, most=10):
            assert reader.execute(query, {"cluster": recorded.pk}).fetchone() == (1,)
        with scanned(reader, recorded.pk, {"log": Condition()}, most=10):
            assert reader.execute(query, {"cluster": recorded.pk}).fetchone() == (4 * STEPS + 1,)
    assert "log" not in presence.removed_kinds(connection, recorded.pk)


def test_prepared_queries_find_what_a_scan_found_and_then_what_is_in_the_table(
    connection: psycopg.Connection, recorded: Cluster, folder: object
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    only = Condition((AtLeast("level", 40),))
    found = []
    with connect_reader() as reader:
        reader.prepare_threshold = 0
        for cluster in (recorded.pk, recorded.pk + 1, recorded.pk, recorded.pk + 1, recorded.pk):
            with scanned(reader, cluster, {"log": only}):
                query = "SELECT count(*) FROM log WHERE cluster_id = %(cluster)s"
                found.append(reader.execute(query, {"cluster": cluster}).fetchone())
    assert found == [(1,), (0,), (1,), (0,), (1,)]


def test_a_search_tells_how_many_files_it_has_read_and_stops_when_nobody_waits(
    connection: psycopg.Connection, recorded: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round(seconds=3_600)
    remove_unused(connection, recorded.pk)
    number = len(archive.paths(recorded.pk)["log"])
    assert number > 3
    asker, files = Asker("somebody"), ScannedFiles()
    context = copy_context()
    context.run(ASKER.set, asker)
    context.run(SCANNED_FILES.set, files)
    with connect_reader() as reader:
        found, cursor = context.run(listed_lines, reader, recorded.pk, LogFilter(), 30, deadline=0.0)
        assert found
        assert cursor is not None
        assert (files.read, files.of) == (1, number)
        context.run(listed_lines, reader, recorded.pk, LogFilter(text="nowhere"), 30)
        assert (files.read, files.of) == (1 + number, 2 * number)
        asker.is_gone = True
        with pytest.raises(AskerGone):
            context.run(listed_lines, reader, recorded.pk, LogFilter(), 30)
        assert reader.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def test_a_page_tells_how_many_files_were_read(
    connection: psycopg.Connection,
    recorded: Cluster,
    archive: Archive,
    folder: object,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive_round(seconds=3_600)
    remove_unused(connection, recorded.pk)
    monkeypatch.setattr(views, "BUDGET", -1.0)
    files = copy_context()
    files.run(SCANNED_FILES.set, ScannedFiles())
    path = f"/clusters/{recorded.pk}/logs/?text=paused"
    page = files.run(world.client("owner").get, path).content.decode()
    number = len(archive.paths(recorded.pk)["log"])
    assert re.search(rf"and has read \d of {number} files of the archive", page), page


def test_a_file_that_is_gone_is_named(
    connection: psycopg.Connection, recorded: Cluster, archive: Archive, folder: Path
) -> None:
    archive_round()
    remove_unused(connection, recorded.pk)
    path = archive.paths(recorded.pk)["log"][0]
    (folder / path).unlink()
    with connect_reader() as reader, pytest.raises(ArchiveError, match="missing"):
        listed_lines(reader, recorded.pk, LogFilter(), 10_000)
