"""Dependencies between the groups of a graph."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, NameReference, Type

RECORD_KIND = Kind(
    meaning="A dependency of a group of tasks on another group.",
    importance=Importance.TASKS,
    fields=(
        Field("time", Type.TIME, "time of the computation's submission", "s", "Computation.start"),
        Field("computation", Type.NAME, "id of the computation", "", "Computation.id"),
        Field(
            "group",
            Type.KEY,
            "the group that depends",
            "",
            "TaskGroup.name",
            NameReference("task_group"),
        ),
        Field(
            "depends_on",
            Type.KEY,
            "the group that it depends on",
            "",
            "TaskGroup.dependencies",
            NameReference("task_group"),
        ),
        Field("edges", Type.COUNT, "number of pairs of tasks", "", "TaskState.dependencies"),
    ),
)
