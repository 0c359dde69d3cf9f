"""Every read function of the store answers the same, wherever the rows are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints
from uuid import UUID

import numpy as np
import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.store import queries
from observatory.store.archive import needed, presence
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect, connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import find_keys
from observatory.store.queries.alerts.events import Asked
from observatory.store.queries.alerts.series import SeriesWindow
from observatory.store.queries.logs import LogFilter
from observatory.store.queries.named_records import record_kinds
from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.store.queries.sums.sum_layer import Bins
from observatory.store.queries.tasks.errors import ErrorFilter
from observatory.store.queries.tasks.lineage import ClusterWindow, Direction, neighbours
from observatory.store.queries.tasks.search import Stretch, Where, tasks_with_key
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.other_work import NONE
from observatory.store.queries.windows.tasks.sampled_tasks import sampled_tasks
from observatory.store.queries.windows.transfers import largest_transfers
from observatory.store.reading.connections import UnknownCluster, clusters_of, kinds_of
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import FIRST, KEY, START, STOP
from tests.store.archive.conftest import remove_unused

KINDS = [kind.name for kind in stored_kinds()]
SECOND = 1_000_000
LATE = START + 11
FIRST_TIME, LAST_TIME = START - 100, STOP + 300
Function = Callable[..., Any]


def _read_functions() -> dict[str, Function]:
    """The functions of store/queries that take a connection, by module and name."""
    found = {}
    for module in pkgutil.walk_packages(queries.__path__, f"{queries.__name__}."):
        for name, function in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isfunction(function)
                and function.__module__ == module.name
                and not name.startswith("_")
                and "connection" in inspect.signature(function).parameters
            ):
                found[f"{module.name.removeprefix(queries.__name__ + '.')}.{name}"] = function
    return found


NOT_OF_RECORDS = {
    "agents.agents_of",
    "fetch.fetch_columns",
    "fetch.fetch_packed_columns",
    "timeline.snapshot",
    "extents.row_estimates",
}
"""no records, what their caller asks for, or an estimate of the whole database"""
IN_PARTS = {"named_records.read", "windows.tasks.sampled_tasks.spans_of_tasks"}
"""those that need a transaction, for their rows come some at a time"""
FUNCTIONS = {name: found for name, found in _read_functions().items() if name not in NOT_OF_RECORDS}


@dataclass
class Arguments:
    """What read functions are called with, by the names of their parameters."""

    connection: psycopg.Connection
    cluster: int

    def __post_init__(self) -> None:
        keys = find_keys(self.connection, self.cluster, KEY)
        window = ClusterWindow(self.cluster, int(FIRST_TIME * SECOND), int(LAST_TIME * SECOND))
        clusters = {self.cluster: 86_400.0}
        series, lanes, workers, prefixes, groups, stacks = (
            self._ids(table) for table in ("series", "lane", "worker", "prefix", "task_group", "stack")
        )
        starts = self._column("(extract(epoch FROM start) * 1000000)::bigint", "span")
        span = self._row("SELECT lane_id, (extract(epoch FROM start) * 1000000)::bigint FROM span")
        metric = "observatory_worker_memory_bytes"
        self.values: dict[str, Any] = {
            "cluster": self.cluster,
            "clusters": [self.cluster],
            "ages": clusters,
            "pairs": [(self.cluster, metric)],
            "window": window,
            "windows": {1: (self.cluster, from_seconds(FIRST_TIME), from_seconds(LAST_TIME))},
            "start": FIRST_TIME,
            "first": START,
            "oldest": FIRST_TIME,
            "after": START - 30,
            "since": FIRST_TIME,
            "at": LATE + 1,
            "before": LAST_TIME,
            "stop": LAST_TIME,
            "limit": 500,
            "until": LAST_TIME,
            "keys": keys,
            "key": KEY,
            "text": "sum",
            "groups": groups,
            "group": groups[0],
            "ids": prefixes,
            "series": series,
            "lanes": lanes,
            "lane": span[0],
            "workers": workers,
            "places": [0] * len(workers),
            "worker": workers[0],
            "prefixes": prefixes,
            "prefix": prefixes[0],
            "stacks": stacks,
            "starts": starts,
            "metric": metric,
            "metrics": [metric, "dask_scheduler_tasks_total"],
            "gauges": {"workers": ("observatory_cluster_workers", {"state": "total"})},
            "kinds": ["worker-status", "graph-updated", "restarted"],
            "kind": "process",
            "others": NONE,
            "filters": LogFilter(),
            "direction": Direction.DEPENDENCIES,
            "where": Where.ANYWHERE,
            "stretch": Stretch(window.start, window.stop, 0),
            "tasks": [],
            "transfers": [],
            "addresses": [FIRST],
            "id": self._row("SELECT id FROM error WHERE cluster_id = %s", self.cluster)[0],
            "run": UUID(int=1),
            "code_id": UUID(int=1),
            "exception_type": "ValueError",
            "by": "prefix",
            "quantiles": [0.5],
            "bins": 20,
            "width": 20.0,
            "level": 0,
            "label": "type",
            "most": 500,
            "than": 1,
            "more_than": 0,
            "shortest": 0,
            "near": START,
            "max_age": 86_400.0,
            "timeout": 60.0,
            "columns": ["time"],
            "band": 0,
            "shuffles": ["f00d"],
            "states": list(range(8)),
            "ratio": 1.5,
            "excess": 0.0,
            "fence": 1.5,
            "widest": 4.0,
            "fewest": 1,
            "longest": 2.0,
            "usual": 0.5,
        }
        matched = tasks_with_key(self.connection, self.cluster, KEY)
        sampled = sampled_tasks(self.connection, self.cluster, window.start, window.stop, [KEY], most=500)
        of_sample = {"tasks": sampled["task"].tolist()}
        alerted = int(FIRST_TIME * SECOND), int(LAST_TIME * SECOND)
        of_series = [SeriesWindow(each, self.cluster, *alerted) for each in series]
        self.of_function: dict[str, dict[str, Any]] = {
            "alerts.series.workers_within": {"windows": {self.cluster: alerted}},
            "alerts.series.series_within": {"windows": {self.cluster: alerted}},
            "alerts.series.samples_within": {"wanted": of_series},
            "alerts.series.last_samples_within": {"wanted": of_series},
            "alerts.events.present_kinds": {"since": {self.cluster: int(FIRST_TIME * SECOND)}},
            "alerts.events.with_errors": {"since": {self.cluster: int(FIRST_TIME * SECOND)}},
            "alerts.events.events": {"asked": [Asked(self.cluster, "graph-updated", *alerted)]},
            "alerts.events.last_events": {"asked": [Asked(self.cluster, "restarted", *alerted)]},
            "alerts.events.last_statuses": {"asked": [Asked(self.cluster, "worker-status", *alerted)]},
            "alerts.events.errors": {"asked": [Asked(self.cluster, "errors", *alerted)]},
            "alerts.events.log_lines": {"asked": [Asked(self.cluster, "10", *alerted)]},
            "named_records.read": {"kind": record_kinds()["sample"], "columns": ["time", "metric", "value"]},
            "named_records.page": {"kind": record_kinds()["span"], "columns": ["start", "key"]},
            "tasks.errors.error_groups": {"filters": ErrorFilter()},
            "tasks.errors.task_errors": {"filters": ErrorFilter()},
            "tasks.lineage.spans_of_few": {
                "tasks": neighbours(self.connection, self.cluster, keys, Direction.DEPENDENCIES, 50)
            },
            "names.clusters_with_group": {"groups": ["sum-0a1b"]},
            "tasks.search.computed_tasks": {"tasks": matched},
            "tasks.search.last_errors": {"tasks": matched},
            "tasks.search.last_states": {"tasks": matched},
            "timeline.count_events": {"first": 0, "level": 10},
            "windows.comparison.window_spans": {"lanes": None},
            "windows.tasks.graph.task_edges": {"tasks": list(keys.ids)},
            "windows.row_counts.has_more_spans": {"lanes": None},
            "windows.transfers.waiting_tasks": {
                "transfers": largest_transfers(
                    self.connection, self.cluster, window.start, window.stop, limit=5
                )
            },
            "windows.thread_time.keys_of_computations": {"lanes": [span[0]], "starts": [span[1]]},
            "windows.findings.keys_of_tasks": of_sample,
            "windows.findings.known_tasks": {"lanes": [span[0]], "starts": [span[1]]},
            "windows.tasks.sampled_tasks.sampled_tasks": {"keys": [KEY]},
            "windows.tasks.sampled_tasks.spans_of_tasks": of_sample,
            "windows.tasks.sampled_tasks.edges_between": of_sample,
            "windows.tasks.sampled_tasks.failed_attempts": of_sample,
            "windows.tasks.sampled_tasks.messages_of_tasks": of_sample,
        }

    def of(self, name: str, function: Function) -> dict[str, Any]:
        """Those of a function. A function with a parameter of a new name needs a value for it above."""
        known, hints = self.values | self.of_function.get(name, {}), get_type_hints(function)
        found = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == "connection" or (
                parameter.default is not parameter.empty and parameter.name != "lanes"
            ):
                continue
            assert parameter.name in known, f"{name} needs a value for {parameter.name} in Arguments"
            value = known[parameter.name]
            if isinstance(value, float) and parameter.name in TIMES:
                value = round(value * SECOND) if hints[parameter.name] is int else from_seconds(value)
            if parameter.name == "limit" and hints["limit"] is not int:
                value = from_seconds(LAST_TIME)
            found[parameter.name] = value
        return found

    def _ids(self, table: str) -> list[int]:
        rows = self.connection.execute(
            f"SELECT id FROM {table} WHERE cluster_id = %s ORDER BY id", [self.cluster]
        )
        return [id for (id,) in rows]

    def _column(self, column: str, table: str) -> list[Any]:
        rows = self.connection.execute(
            f"SELECT {column} FROM {table} WHERE cluster_id = %s ORDER BY 1", [self.cluster]
        )
        return [value for (value,) in rows]

    def _row(self, query: str, *parameters: Any) -> tuple[Any, ...]:
        row = self.connection.execute(f"{query} LIMIT 1", parameters).fetchone()
        assert row is not None
        return row


TIMES = ("start", "stop", "first", "oldest", "after", "since", "at", "before", "until")


def _plain(value: Any) -> str:
    """A result as text, whatever the order in which its rows come, and its sums are added up."""
    if isinstance(value, Iterator):
        value = [row for rows in value for row in rows]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict) and value and all(isinstance(each, np.ndarray) for each in value.values()):
        value = list(zip(*(each.tolist() for each in value.values()), strict=True))
    if isinstance(value, dict):
        return str(sorted(f"{key}: {_plain(each)}" for key, each in value.items()))
    if isinstance(value, list | set):
        return str(sorted(map(_plain, value)))
    if isinstance(value, tuple):
        return str(tuple(map(_plain, value)))
    if is_dataclass(value):
        return str([_plain(getattr(value, field.name)) for field in fields(value)])
    return repr(value)


def answers(
    arguments: Arguments, connect: Callable[[], psycopg.Connection], in_snapshot: bool, prepare: Function
) -> dict[str, str]:
    """The answer of each function, each after `prepare`."""
    found = {}
    with connect() as connection:
        for name, function in FUNCTIONS.items():
            prepare()
            needs_transaction = in_snapshot or name in IN_PARTS
            with snapshot(connection) if needs_transaction else nullcontext():
                found[name] = _plain(function(connection, **arguments.of(name, function)))
        for name, layer in SUM_LAYERS.items():
            prepare()
            with snapshot(connection) if in_snapshot else nullcontext():
                bins = Bins(int(FIRST_TIME * SECOND), int(LAST_TIME * SECOND), int(START * SECOND), SECOND)
                found[f"sums.{name}"] = _plain(layer.read(connection, arguments.cluster, bins))
    return found


def _write_late(connection: psycopg.Connection, cluster: Cluster) -> None:
    """Records of some kinds that come after the cluster was archived."""
    with Writer() as writer:
        writer.write(
            Batch.of(
                cluster.pk,
                events=[Event(LATE, "restarted")],
                samples=[
                    Sample(
                        Series("observatory_worker_memory_bytes", (("type", "process"),), FIRST), LATE, 7.0
                    )
                ],
            )
        )


class Tables:
    """Makes rows leave their tables again after what was read brought them back."""

    def __init__(self, connection: psycopg.Connection, cluster: int) -> None:
        self._connection, self._cluster = connection, cluster
        for kind in KINDS:
            # of this cluster alone: what another test left would grow with each call of `again`
            connection.execute(
                f"CREATE TEMPORARY TABLE kept_{kind} AS SELECT * FROM {kind} WHERE cluster_id = {cluster}"
            )

    def again(self) -> None:
        removed = presence.removed_kinds(self._connection, self._cluster)
        for kind in set(KINDS) - set(removed):
            with self._connection.transaction():
                self._connection.execute(f"DELETE FROM {kind} WHERE cluster_id = %s", [self._cluster])
                self._connection.execute(f"INSERT INTO {kind} SELECT * FROM kept_{kind}")
                self._connection.execute(
                    "UPDATE archived_rows SET is_removed = true WHERE cluster_id = %s AND kind = %s",
                    [self._cluster, kind],
                )
        needed.forget()


@pytest.mark.parametrize("in_snapshot", [False, True], ids=["each by itself", "in a snapshot"])
@pytest.mark.parametrize("is_late", [False, True], ids=["archived", "half of each"])
def test_every_read_function_answers_the_same_wherever_the_rows_are(
    is_late: bool, in_snapshot: bool, connection: psycopg.Connection, cluster: Cluster, folder: object
) -> None:
    arguments = Arguments(connection, cluster.pk)
    archive_round()
    assert remove_unused(connection, cluster.pk) > 0
    if is_late:
        _write_late(connection, cluster)
    tables = Tables(connection, cluster.pk)
    found = answers(arguments, connect_reader, in_snapshot, tables.again)
    bring_back(cluster.pk, KINDS)
    expected = answers(arguments, connect_reader, False, lambda: None)
    others = {name: (found[name], expected[name]) for name in found if found[name] != expected[name]}
    assert others == {}
    silent = {name for name, answer in expected.items() if answer in ("[]", "{}", "None", "set()")}
    assert len(silent) < len(expected) / 4, silent


def test_a_connection_that_is_no_readers_misses_archived_rows(
    connection: psycopg.Connection, cluster: Cluster, folder: object
) -> None:
    arguments = Arguments(connection, cluster.pk)
    expected = answers(arguments, connect, False, lambda: None)
    archive_round()
    assert remove_unused(connection, cluster.pk) > 0
    found = answers(arguments, connect, False, lambda: None)
    missing = {name for name in found if found[name] != expected[name]}
    assert len(missing) > len(found) / 3, "the test above could not fail"


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("SELECT 1 FROM span", {"span"}),
        ("SELECT 1 FROM worker JOIN  \n event ON true", {"event"}),
        ('SELECT 1 FROM "log"', {"log"}),
        ("SELECT span.id FROM worker, extent", set()),
        ("SELECT FROM task_group JOIN group_dependency USING (id)", {"group_dependency"}),
    ],
)
def test_the_kinds_of_a_query_are_the_tables_that_it_reads(query: str, kinds: set[str]) -> None:
    assert kinds_of(query) == kinds


def test_a_query_of_records_has_to_name_its_clusters() -> None:
    assert clusters_of({"cluster": 7}) == [7]
    assert clusters_of({"clusters": (7, 8)}) == [7, 8]
    for nothing in (None, [7], {"start": 7}):
        with pytest.raises(UnknownCluster, match="needs the parameter"):
            clusters_of(nothing)
