"""Failures of tasks."""

from __future__ import annotations

from observatory.wire.columns import ColumnType, Index, Method
from observatory.wire.kind import (
    FOUND_BY_KEY,
    As,
    Field,
    Importance,
    KeyReference,
    Kind,
    Type,
    WorkerReference,
)

TRACEBACKS = "tracebacks"

RECORD_KIND = Kind(
    meaning="A failed attempt to run a task.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time at which the scheduler was informed", "s", "time of the message"),
        Field("key", Type.KEY, "the task", "", "TaskErredMsg.key", KeyReference(has_prefix=True)),
        Field(
            "worker",
            Type.NAME,
            "address of the worker that ran the task",
            "",
            "TaskErredMsg worker",
            WorkerReference(),
        ),
        Field(
            "outcome",
            Type.NAME,
            "erred; retried: another attempt follows; killed: its workers died",
            "",
            "TaskState.retries, KilledWorker",
        ),
        Field(
            "exception_type", Type.NAME, "name of the exception's class", "", "TaskErredMsg.exception_text"
        ),
        Field(
            "message",
            Type.TEXT,
            "the exception as text",
            "",
            "TaskErredMsg.exception_text",
            part=TRACEBACKS,
        ),
        Field(
            "traceback",
            Type.LONG,
            "the traceback as Python prints it",
            "",
            "TaskErredMsg.traceback_text",
            part=TRACEBACKS,
        ),
        Field("retries", Type.COUNT, "remaining attempts", "", "TaskState.retries", As(ColumnType.INTEGER)),
        Field(
            "workers",
            Type.JSON,
            "list of the addresses of the workers on which it failed or which died, in order",
            "",
            "TaskState.erred_on, SchedulerPlugin.remove_worker",
        ),
        Field(
            "dependents",
            Type.COUNT,
            "tasks that failed because they depend on it",
            "",
            "TaskState.exception_blame",
            As(ColumnType.INTEGER),
        ),
        Field(
            "function",
            Type.NAME,
            "name of the function that was called",
            "",
            "TaskState.run_spec, dask.utils.funcname",
            part=TRACEBACKS,
            is_optional=True,
        ),
        Field(
            "arguments",
            Type.TEXT,
            "its arguments, one a line, where the setting `observatory.error-arguments` asks for them",
            "",
            "TaskState.run_spec",
            part=TRACEBACKS,
            is_optional=True,
        ),
    ),
    has_id=True,
    reading=(
        "time",
        "id",
        "key",
        "prefix",
        "group",
        "outcome",
        "exception_type",
        "message",
        "function",
        "arguments",
        "traceback",
        "worker",
        "worker_name",
        "workers",
        "retries",
        "dependents",
    ),
    indexes=(
        Index(Method.TREE, ("cluster_id", "time")),
        *FOUND_BY_KEY,
        Index(Method.TREE, ("id",)),
    ),
)
