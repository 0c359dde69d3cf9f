"""Events of the timeline."""

from __future__ import annotations

from observatory.wire.columns import ColumnType, Index, Method
from observatory.wire.kind import As, Field, Importance, Kind, Type, WorkerReference

RECORD_KIND = Kind(
    meaning="An event of the cluster, such as a worker that joined.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time of the event", "s", "time of the hook"),
        Field(
            "kind",
            Type.NAME,
            "one of EVENT_KINDS (wire/event_kinds.py)",
            "",
            "the hook, or the action in the event",
        ),
        Field(
            "worker",
            Type.NAME,
            "address of the worker, or empty",
            "",
            "the hook's worker",
            WorkerReference(),
        ),
        Field(
            "detail",
            Type.JSON,
            "object; pages show its item `message`",
            "",
            "SchedulerPlugin.log_event msg",
            As(ColumnType.OBJECT, item="message"),
        ),
    ),
    indexes=(
        Index(Method.TREE, ("cluster_id", "time")),
        Index(Method.TREE, ("cluster_id", "kind", "time")),
    ),
)
