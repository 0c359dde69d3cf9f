"""The kinds of records as people read them: their columns, with names in place of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import LiteralString

from observatory.store.ingest.agent_rows import SOURCES
from observatory.wire.records import ROLES, TASK_STATES, Action, MetricType, Status

NAMES: Mapping[str, Sequence[str]] = {
    "actions": [action.label for action in Action],
    "statuses": [status.name.lower() for status in Status],
    "states": TASK_STATES,
    "roles": ROLES,
    "sources": SOURCES,
    "directions": ("incoming", "outgoing"),
    "types": [type.name.lower() for type in MetricType],
}
"""what the numbers in the tables stand for: parameters of the columns below"""

EPOCH_SQL: LiteralString = "timestamptz '1970-01-01 00:00+00'"


class ColumnType(Enum):
    TIME = "time"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    JSON = "json"
    """as text"""


@dataclass(frozen=True, slots=True)
class Column:
    type: ColumnType
    sql: LiteralString


@dataclass(frozen=True, slots=True)
class RecordKind:
    name: str
    table: LiteralString
    columns: Mapping[str, Column]
    joins: LiteralString = ""
    time: LiteralString = ""
    """what its rows are in order of; by default the table's `time`"""
    within: LiteralString = ""
    """which rows belong to the window from %(start)s to %(stop)s; by default those whose time lies in it"""

    @property
    def order(self) -> LiteralString:
        return self.time or f"{self.table}.time"

    @property
    def condition(self) -> LiteralString:
        return self.within or f"{self.order} >= %(start)s AND {self.order} < %(stop)s"

    def types(self, names: Sequence[str]) -> dict[str, ColumnType]:
        return {name: self.columns[name].type for name in names}


def _time(sql: LiteralString) -> Column:
    return Column(ColumnType.TIME, sql)


def _text(sql: LiteralString) -> Column:
    return Column(ColumnType.TEXT, sql)


def _integer(sql: LiteralString) -> Column:
    return Column(ColumnType.INTEGER, f"({sql})::bigint")


def _real(sql: LiteralString) -> Column:
    return Column(ColumnType.REAL, sql)


def _json(sql: LiteralString) -> Column:
    return Column(ColumnType.JSON, f"({sql})::text")


def _one_of(names: LiteralString, sql: LiteralString) -> Column:
    """The name that a number stands for; those that weren't known when this was written are “unknown”."""
    return _text(f"coalesce((%({names})s::text[])[{sql} + 1], 'unknown')")


_WORKER = {"worker": _text("coalesce(worker.address, '')"), "worker_name": _text("coalesce(worker.name, '')")}
_OF_WORKER: LiteralString = "LEFT JOIN worker ON worker.id = worker_id"
_OF_GROUP: LiteralString = """JOIN task_group ON task_group.id = group_id
    JOIN prefix ON prefix.id = task_group.prefix_id"""
_KEY = {
    "key": _text("replace(key_rest, U&'\\0001', task_group.name)"),
    "prefix": _text("prefix.name"),
    "group": _text("task_group.name"),
}
_OVERLAPS: LiteralString = "start < %(stop)s AND stop > %(start)s"

_KINDS = (
    RecordKind(
        "worker",
        "worker",
        {
            "address": _text("worker.address"),
            "name": _text("worker.name"),
            "host": _text("host"),
            "nthreads": _integer("nthreads"),
            "memory_limit": _integer("memory_limit"),
            "started": _time("started"),
            "ended": _time("ended"),
            "end_reason": _text("end_reason"),
            "status": _text("worker.status"),
            "resources": _json("resources"),
            "detail": _json("worker.detail"),
        },
        time="worker.started",
        within="started < %(stop)s AND (ended IS NULL OR ended > %(start)s)",
    ),
    RecordKind(
        "span",
        "span",
        {
            "start": _time("start"),
            "stop": _time("stop"),
            **_WORKER,
            "thread": _integer("lane.thread"),
            "lane": _integer("lane.position"),
            **_KEY,
            "action": _one_of("actions", "action"),
            "status": _one_of("statuses", "span.status"),
            "nbytes": _integer("nbytes"),
            "typename": _text("typename.name"),
        },
        joins=f"""JOIN lane ON lane.id = lane_id {_OF_WORKER} {_OF_GROUP}
            JOIN typename ON typename.id = typename_id""",
        time="span.start",
        within=_OVERLAPS,
    ),
    RecordKind(
        "sample",
        "sample",
        {
            "time": _time("sample.time"),
            "metric": _text("series.metric"),
            "labels": _json("series.labels"),
            **_WORKER,
            "type": _one_of("types", "series.type"),
            "value": _real("value"),
        },
        joins=f"JOIN series ON series.id = series_id {_OF_WORKER}",
    ),
    RecordKind(
        "event",
        "event",
        {
            "time": _time("event.time"),
            "kind": _text("event.kind"),
            **_WORKER,
            "message": _text("coalesce(event.detail->>'message', '')"),
            "detail": _json("event.detail"),
        },
        joins=_OF_WORKER,
    ),
    RecordKind(
        "transition",
        "transition",
        {
            "time": _time("transition.time"),
            **_KEY,
            "start": _one_of("states", "transition.start"),
            "finish": _one_of("states", "transition.finish"),
            **_WORKER,
            "stimulus": _text("stimulus"),
        },
        joins=f"{_OF_GROUP} {_OF_WORKER}",
    ),
    RecordKind(
        "error",
        "error",
        {
            "time": _time("error.time"),
            "id": _text("error.id::text"),
            **_KEY,
            "outcome": _text("outcome"),
            "exception_type": _text("exception_type"),
            "message": _text("message"),
            "traceback": _text("traceback"),
            **_WORKER,
            "workers": _json("workers"),
            "retries": _integer("retries"),
            "dependents": _integer("dependents"),
        },
        joins=f"{_OF_GROUP} {_OF_WORKER}",
    ),
    RecordKind(
        "log",
        "log",
        {
            "time": _time("log.time"),
            "role": _one_of("roles", "role"),
            **_WORKER,
            "level": _integer("level"),
            "logger": _text("logger"),
            "message": _text("message"),
            "traceback": _text("traceback"),
            "pid": _integer("pid"),
        },
        joins=_OF_WORKER,
    ),
    RecordKind(
        "computation",
        "computation",
        {
            "time": _time("computation.time"),
            # the table has a column of its own name
            "computation": _text("computation.computation"),
            "client": _text("client"),
            "code": _text("code"),
            "groups": _json("groups"),
            "annotations": _json("annotations"),
            "spans": _json("spans"),
        },
    ),
    RecordKind(
        "group_dependency",
        "group_dependency",
        {
            "time": _time("group_dependency.time"),
            "computation": _text("computation"),
            "group": _text("task_group.name"),
            "depends_on": _text("needed.name"),
            "edges": _integer("edges"),
        },
        joins="""JOIN task_group ON task_group.id = group_id
            JOIN task_group AS needed ON needed.id = depends_on_id""",
    ),
    RecordKind(
        "dependency",
        "dependency",
        {
            "time": _time("dependency.time"),
            "computation": _text("computation"),
            "key": _KEY["key"],
            "depends_on": _text("replace(depends_on_rest, U&'\\0001', needed.name)"),
        },
        joins="""JOIN task_group ON task_group.id = group_id
            JOIN task_group AS needed ON needed.id = depends_on_group_id""",
    ),
    RecordKind(
        "task",
        "task",
        {
            "time": _time("task.time"),
            "computation": _text("computation"),
            **_KEY,
            "priority": _text("priority"),
            "retries": _integer("retries"),
            "annotations": _json("annotations"),
            "resources": _json("resources"),
        },
        joins=_OF_GROUP,
    ),
    RecordKind(
        "profile",
        "profile",
        {
            "time": _time("profile.time"),
            **_WORKER,
            "source": _one_of("sources", "source"),
            "prefix": _text("coalesce(prefix.name, '')"),
            "stack": _integer("stack_id"),
            "count": _integer("count"),
        },
        joins=f"{_OF_WORKER} LEFT JOIN prefix ON prefix.id = prefix_id",
    ),
    RecordKind(
        "stack",
        "stack",
        {"stack": _integer("stack.id"), "frames": _text("frames")},
        time=EPOCH_SQL,
        within="""stack.id IN (SELECT stack_id FROM profile WHERE profile.cluster_id = %(cluster)s
            AND profile.time >= %(start)s AND profile.time < %(stop)s)""",
    ),
    RecordKind(
        "transfer",
        "transfer",
        {
            "start": _time("start"),
            "stop": _time("stop"),
            **_WORKER,
            "peer": _text("peer"),
            "direction": _one_of("directions", "direction"),
            "nbytes": _integer("nbytes"),
            "compressed": _integer("compressed"),
            "count": _integer("count"),
            "keys": _json("keys"),
        },
        joins=_OF_WORKER,
        time="transfer.start",
        within=_OVERLAPS,
    ),
    RecordKind(
        "steal",
        "steal",
        {
            "time": _time("steal.time"),
            "outcome": _text("outcome"),
            **_KEY,
            "victim": _text("victim"),
            "thief": _text("thief"),
            "level": _integer("level"),
            "cost": _real("cost"),
            "victim_occupancy": _real("victim_occupancy"),
            "thief_occupancy": _real("thief_occupancy"),
        },
        joins=_OF_GROUP,
    ),
)

RECORD_KINDS: Mapping[str, RecordKind] = {kind.name: kind for kind in _KINDS}
