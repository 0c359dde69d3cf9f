"""State changes of tasks."""

from __future__ import annotations

from observatory.wire.columns import Index, Method
from observatory.wire.kind import FOUND_BY_KEY, Field, Importance, Kind, Label, Type, WorkerReference
from observatory.wire.records import TASK_STATES

RECORD_KIND = Kind(
    meaning="A change of a task's state on the scheduler.",
    importance=Importance.TASKS,
    fields=(
        Field("time", Type.TIME, "time of the change", "s", "time of the hook"),
        Field("key", Type.KEY, "the task", "", "SchedulerPlugin.transition key"),
        Field(
            "start",
            Type.NAME,
            "state before",
            "",
            "SchedulerPlugin.transition start",
            Label(TASK_STATES),
        ),
        Field(
            "finish",
            Type.NAME,
            "state after",
            "",
            "SchedulerPlugin.transition finish",
            Label(TASK_STATES),
        ),
        Field(
            "worker",
            Type.NAME,
            "address of the worker, or empty",
            "",
            "TaskState.processing_on",
            WorkerReference(),
        ),
        Field("stimulus", Type.NAME, "cause of the change", "", "SchedulerPlugin.transition stimulus_id"),
    ),
    indexes=(Index(Method.BLOCKS, ("time",)), *FOUND_BY_KEY),
)
