"""Spans: timed actions of tasks on the threads of workers."""

from __future__ import annotations

from observatory.wire.columns import ColumnType, Index, Method
from observatory.wire.kind import (
    FOUND_BY_KEY,
    As,
    Field,
    Importance,
    InOther,
    KeyReference,
    Kind,
    Label,
    LaneReference,
    NameReference,
    Type,
)
from observatory.wire.records import Action, Status

RECORD_KIND = Kind(
    meaning="A timed action of a task on a thread of a worker.",
    importance=Importance.TASKS,
    fields=(
        Field(
            "worker",
            Type.NAME,
            "address of the worker",
            "",
            "SchedulerPlugin.transition worker",
            LaneReference(),
        ),
        Field(
            "thread",
            Type.REAL,
            "threading.get_ident on the worker",
            "",
            "SchedulerPlugin.transition thread",
            InOther(),
        ),
        Field(
            "key",
            Type.KEY,
            "the task",
            "",
            "SchedulerPlugin.transition key",
            KeyReference(has_prefix=True),
        ),
        Field(
            "action",
            Type.CODE,
            "0 compute, 1 transfer, 2 disk-read, 3 disk-write, 4 deserialize, 5 serialize, 6 long-running",
            "",
            "startstops action",
            Label(tuple(action.label for action in Action)),
        ),
        Field("start", Type.TIME, "start of the action", "s", "startstops start"),
        Field("stop", Type.TIME, "end of the action", "s", "startstops stop"),
        Field(
            "nbytes",
            Type.REAL,
            "size of the task's result, also of a transfer that it waited for",
            "B",
            "SchedulerPlugin.transition nbytes",
            As(ColumnType.BIGINT),
        ),
        Field(
            "typename",
            Type.NAME,
            "type of the result",
            "",
            "SchedulerPlugin.transition typename",
            NameReference("typename"),
        ),
        Field(
            "status",
            Type.CODE,
            "0 the task finished, 1 it erred",
            "",
            "SchedulerPlugin.transition finish",
            Label(tuple(status.name.lower() for status in Status)),
        ),
    ),
    reading=(
        "start",
        "stop",
        "worker",
        "worker_name",
        "thread",
        "lane",
        "key",
        "prefix",
        "group",
        "action",
        "status",
        "nbytes",
        "typename",
    ),
    indexes=(
        Index(Method.TREE, ("cluster_id", "start")),
        # of both ends: the spans that overlap a window are found whatever the longest span is
        Index(Method.BLOCKS, ("start",)),
        Index(Method.BLOCKS, ("stop",)),
        *FOUND_BY_KEY,
    ),
)
