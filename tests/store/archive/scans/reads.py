"""Reads of a cluster that scans of its files answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg

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
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.named_records import Wanted as WantedRecords
from observatory.store.queries.named_records import page, record_kinds, scanned_conditions
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.scanning import scanned
from observatory.store.times import from_seconds
from tests.store.archive.long_history import (
    FIRST,
    RARE,
    SECOND,
    START,
    STEP,
    STEPS,
    key_of,
)

Read = Callable[[psycopg.Connection, Cluster], Any]
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
