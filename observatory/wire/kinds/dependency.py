"""Dependencies between the tasks of a graph."""

from __future__ import annotations

from observatory.wire.columns import Index, Method
from observatory.wire.kind import FOUND_BY_KEY, Field, Importance, KeyReference, Kind, Type

RECORD_KIND = Kind(
    meaning="A dependency of a task on another task.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "time of the computation's submission", "s", "Computation.start"),
        Field("computation", Type.NAME, "id of the computation", "", "Computation.id"),
        Field(
            "key",
            Type.KEY,
            "the task that depends",
            "",
            "TaskState.key",
            KeyReference(shows_group=False),
        ),
        Field(
            "depends_on",
            Type.KEY,
            "the task that it depends on",
            "",
            "TaskState.dependencies",
            KeyReference(shows_group=False),
        ),
    ),
    indexes=(
        Index(Method.BLOCKS, ("time",)),
        *FOUND_BY_KEY,
        Index(Method.BLOCKS, ("depends_on_group_id",)),
        Index(Method.KEYS, ("depends_on_rest",)),
    ),
)
