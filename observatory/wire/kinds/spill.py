"""Results that workers spilled to disk."""

from __future__ import annotations

from observatory.wire.columns import ColumnType, Index, Method
from observatory.wire.kind import FOUND_BY_KEY, As, Field, Importance, Kind, Type, WorkerReference

REPORTS_SPILLED = "reports_spilled"
"""the key in a worker's detail: whether its agent can tell which results are on disk"""
RECORD_KIND = Kind(
    meaning="A result that a worker has spilled to disk, or has no longer there. Workers look once a second.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "when it was seen", "s", "Worker.data"),
        Field("key", Type.KEY, "the task", "", "SpillBuffer.disk"),
        Field(
            "worker",
            Type.NAME,
            "address of the worker that holds it",
            "",
            "Worker.address",
            WorkerReference(),
        ),
        Field(
            "nbytes",
            Type.REAL,
            "its size on disk; 0: it is no longer there",
            "B",
            "SpilledSize.disk",
            As(ColumnType.BIGINT),
        ),
    ),
    indexes=(Index(Method.BLOCKS, ("time",)), *FOUND_BY_KEY),
)
