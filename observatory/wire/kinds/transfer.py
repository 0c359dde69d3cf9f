"""Transfers of results between workers."""

from __future__ import annotations

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Label, Type, WorkerReference

RECORD_KIND = Kind(
    meaning="A transfer of results between two workers.",
    importance=Importance.SAMPLES,
    fields=(
        Field("start", Type.TIME, "start of the transfer", "s", "Worker.transfer_incoming_log start"),
        Field("stop", Type.TIME, "end of the transfer", "s", "Worker.transfer_incoming_log stop"),
        Field(
            "worker",
            Type.NAME,
            "address of the worker that reports it",
            "",
            "Worker.address",
            WorkerReference(),
        ),
        Field("peer", Type.NAME, "address of the other worker", "", "Worker.transfer_incoming_log who"),
        Field(
            "direction",
            Type.CODE,
            "0 incoming, 1 outgoing",
            "",
            "the worker's log that has it",
            Label(("incoming", "outgoing"), most=255),
        ),
        Field(
            "nbytes",
            Type.REAL,
            "size of the results",
            "B",
            "Worker.transfer_incoming_log total",
            As(ColumnType.BIGINT),
        ),
        Field(
            "compressed",
            Type.REAL,
            "bytes on the wire; 0: unknown",
            "B",
            "Worker.transfer_outgoing_log compressed",
            As(ColumnType.BIGINT),
        ),
        Field(
            "keys",
            Type.JSON,
            "object: size of each key, of the first hundred",
            "B",
            "Worker.transfer_incoming_log keys",
        ),
        Field("count", Type.COUNT, "number of keys", "", "Worker.transfer_incoming_log keys"),
    ),
    clips_stop=True,
    reading=(
        "start",
        "stop",
        "worker",
        "worker_name",
        "peer",
        "direction",
        "nbytes",
        "compressed",
        "count",
        "keys",
    ),
)
