"""Ends of workers' lifetimes."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="The end of a worker's lifetime.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time of the end", "s", "SchedulerPlugin.remove_worker"),
        Field("address", Type.NAME, "address of the worker", "", "SchedulerPlugin.remove_worker worker"),
        Field(
            "reason",
            Type.NAME,
            "removed, retired, lost, killed, cluster-ended",
            "",
            "remove-worker event expected",
        ),
    ),
    has_table=False,
)
