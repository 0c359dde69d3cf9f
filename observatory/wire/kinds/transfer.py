"""Transfers between workers: of results, and of the shards of P2P shuffles."""

from __future__ import annotations

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Label, Type, WorkerReference

RECORD_KIND = Kind(
    meaning="A transfer between two workers: of results, or what a P2P shuffle sent in about a second.",
    importance=Importance.SAMPLES,
    fields=(
        Field("start", Type.TIME, "start of the transfer", "s", "Worker.transfer_incoming_log start"),
        Field("stop", Type.TIME, "end of the transfer", "s", "Worker.transfer_incoming_log stop"),
        Field(
            "worker",
            Type.NAME,
            "address of the worker that reports it; of a shuffle, of the receiver",
            "",
            "Worker.address",
            WorkerReference(),
        ),
        Field("peer", Type.NAME, "address of the other worker", "", "Worker.transfer_incoming_log who"),
        Field(
            "direction",
            Type.CODE,
            "0 incoming, 1 outgoing, 2 shuffled: incoming, of a P2P shuffle",
            "",
            "the worker's log that has it",
            Label(("incoming", "outgoing", "shuffled"), most=255),
        ),
        Field(
            "nbytes",
            Type.REAL,
            "size of the results or shards",
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
            "object: size of each key, of the first hundred; of a shuffle, its id and size",
            "B",
            "Worker.transfer_incoming_log keys",
        ),
        Field(
            "count",
            Type.COUNT,
            "number of keys; of a shuffle, of messages",
            "",
            "Worker.transfer_incoming_log keys",
        ),
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
