"""Progress of P2P shuffles."""

from __future__ import annotations

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="How much a P2P shuffle has moved by a time.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "when it was read", "s", "ShuffleSchedulerPlugin.heartbeats"),
        Field("shuffle", Type.NAME, "the shuffle's id", "", "ShuffleSchedulerPlugin.heartbeats"),
        Field("medium", Type.NAME, "comm or disk", "", "ShuffleSchedulerPlugin.heartbeats"),
        Field("what", Type.NAME, "total, read, written, …", "", "ShuffleSchedulerPlugin.heartbeats"),
        Field(
            "nbytes",
            Type.REAL,
            "sum over the workers since the shuffle began",
            "B",
            "ShuffleSchedulerPlugin.heartbeats",
            As(ColumnType.BIGINT),
        ),
    ),
)
