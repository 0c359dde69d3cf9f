"""Settings that clients give for tasks."""

from __future__ import annotations

from observatory.wire.columns import Index, Method
from observatory.wire.kind import FOUND_BY_KEY, Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="The settings of a submitted task.",
    importance=Importance.TASKS,
    fields=(
        Field("time", Type.TIME, "time of the computation's submission", "s", "Computation.start"),
        Field("computation", Type.NAME, "id of the computation", "", "Computation.id"),
        Field("key", Type.KEY, "the task", "", "TaskState.key"),
        Field("priority", Type.NAME, "Dask's tuple; the smaller, the earlier", "", "TaskState.priority"),
        Field("retries", Type.COUNT, "attempts after the first", "", "TaskState.retries"),
        Field("annotations", Type.JSON, "object", "", "TaskState.annotations"),
        Field(
            "resources",
            Type.JSON,
            "object: amount of each resource",
            "",
            "TaskState.resource_restrictions",
        ),
    ),
    indexes=(Index(Method.BLOCKS, ("time",)), *FOUND_BY_KEY),
)
