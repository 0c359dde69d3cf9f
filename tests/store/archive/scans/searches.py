"""Searches of an archived cluster, what they find, and what can happen to its files meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import quote

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.logs.counts import log_counts
from observatory.replay.logs.search import Wanted, listed_lines
from observatory.replay.scope import Scope
from observatory.replay.task_history import task_history
from observatory.replay.task_search import Wanted as WantedTasks
from observatory.replay.task_search import search_tasks
from observatory.store.archive import needed
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.timeline import snapshot
from observatory.wire.head import Head
from tests.store.archive.long_history import FIRST, RARE, START, STEP, STEPS, key_of

STOP = START + STEPS * STEP
LATE = "a Needle that came late"
WORDS = ("Needle", "İstanbul", "ZeroDivisionError", "load-3")
"""of the cluster's records"""
Found = dict[str, Any]


def log_lines(connection: psycopg.Connection, cluster: int) -> Any:
    return listed_lines(connection, cluster, LogFilter(), 10_000, goes_back=False)[0]


def _counts(connection: psycopg.Connection, cluster: int) -> Any:
    return [log_counts(connection, Scope(each), Wanted()) for each in Cluster.objects.filter(pk=cluster)]


def _story(connection: psycopg.Connection, cluster: int) -> Any:
    with snapshot(connection):
        return task_history(connection, cluster, key_of(RARE))


def _tasks(connection: psycopg.Connection, cluster: int, wanted: WantedTasks) -> Any:
    return search_tasks(connection, cluster, wanted, 1_000).tasks


SEARCHES: dict[str, Callable[[psycopg.Connection, int], Any]] = {
    "a word": lambda reader, cluster: listed_lines(reader, cluster, LogFilter(text="needle"), 1_000)[0],
    "lines": log_lines,
    "counts": _counts,
    "tasks": lambda reader, cluster: _tasks(reader, cluster, WantedTasks("load-3")),
    "not computed": lambda reader, cluster: _tasks(
        reader, cluster, WantedTasks("load", only_not_computed=True)
    ),
    "a story": _story,
}


def search(cluster: int, names: Collection[str] = tuple(SEARCHES)) -> Found:
    needed.forget()  # as a process that has not asked in the last minute
    with connect_reader() as reader:
        return {name: SEARCHES[name](reader, cluster) for name in names}


def _record_late(cluster: int) -> None:
    """A log line and an edge of the graph."""
    rows = {
        "log": [(START + 5, "worker", FIRST, 20, "etl", LATE, "", 7)],
        "dependency": [(START + 5, "c1", key_of(RARE), key_of(0))],
    }
    head = Head(uuid.uuid4().hex, 1, "Scheduler-1", "etl", "", START - 10, START - 5, STOP + 20)
    with Writer() as writer:
        writer.write(Batch.of(cluster, rows=rows, head=head))


def replace_files(cluster: int) -> None:
    """All files get others in their place."""
    _record_late(cluster)
    archive_round()


def pages(connection: psycopg.Connection, cluster: int) -> dict[str, str]:
    """Pages that search, with a word that they show."""
    with connect_reader() as reader, snapshot(reader):
        [error, *_] = task_history(reader, cluster, key_of(RARE)).errors
    return {
        "/search?q=load-3": "load-3",
        f"/clusters/{cluster}/tasks/?q=load-3": "load-3",
        f"/clusters/{cluster}/tasks/?key={quote(key_of(RARE))}": "ZeroDivisionError",
        f"/clusters/{cluster}/errors/{error.id}": "ZeroDivisionError",
        f"/clusters/{cluster}/logs/?text=needle": "A Needle in hay",
        f"/api/v1/clusters/{cluster}/logs?match=needle": "A Needle in hay",
        "/api/v1/search?q=load-3": "load-3",
    }
