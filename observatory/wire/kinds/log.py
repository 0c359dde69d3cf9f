"""Log lines of the cluster's processes."""

from __future__ import annotations

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Label, Type, WorkerReference
from observatory.wire.records import ROLES

RECORD_KIND = Kind(
    meaning="A record of Python's logging in a process of the cluster.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time of the record", "s", "LogRecord.created"),
        Field("role", Type.NAME, "scheduler, worker or nanny", "", "the agent's own", Label(ROLES)),
        Field(
            "worker",
            Type.NAME,
            "address of the worker, or of the nanny's worker, or empty",
            "",
            "Worker.address",
            WorkerReference(),
        ),
        Field(
            "level",
            Type.INTEGER,
            "10 debug, 20 info, 30 warning, 40 error, 50 critical",
            "",
            "LogRecord.levelno",
            As(ColumnType.SMALLINT),
        ),
        Field("logger", Type.NAME, "name of the logger", "", "LogRecord.name"),
        Field("message", Type.TEXT, "the formatted message", "", "LogRecord.getMessage()"),
        Field("traceback", Type.LONG, "traceback of the logged exception", "", "LogRecord.exc_info"),
        Field("pid", Type.COUNT, "id of the process", "", "LogRecord.process"),
    ),
    part="logs",
)
