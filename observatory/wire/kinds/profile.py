"""Profiles: counts of stacks."""

from __future__ import annotations

from observatory.wire.kind import (
    Field,
    Importance,
    Kind,
    Label,
    NameReference,
    StackReference,
    Type,
    WorkerReference,
)
from observatory.wire.records import SOURCES

RECORD_KIND = Kind(
    meaning="The number of samples of a stack within a second.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "the second", "s", "Worker.profile_history, Worker.profile_keys_history"),
        Field(
            "worker",
            Type.NAME,
            "address of the worker; empty: the scheduler",
            "",
            "Worker.address",
            WorkerReference(),
        ),
        Field(
            "source",
            Type.NAME,
            "task: the worker's task threads; event-loop: the process's event loop; native: the task threads "
            "with their native frames, by py-spy",
            "",
            "Worker.profile_recent, Server.profile; py-spy record --native",
            Label(SOURCES, unknown=255, most=255),
        ),
        Field(
            "prefix",
            Type.NAME,
            "prefix of the task; empty for event loops, and for native stacks of a thread that ran several",
            "",
            "Worker.profile_keys",
            NameReference("prefix", is_optional=True),
        ),
        Field(
            "stack",
            Type.LONG,
            "a line for each frame, outermost first: name, file, line, tab-separated",
            "",
            "profile identifier, description",
            StackReference(),
        ),
        Field(
            "count",
            Type.COUNT,
            "number of samples, taken every `distributed.worker.profile.interval`; native ones 20 times in "
            "one second of ten",
            "",
            "profile count",
        ),
    ),
    part="code",
)
