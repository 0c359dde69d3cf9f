"""Computations: graphs that clients submit."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="A graph that a client submitted.",
    importance=Importance.TASKS,
    fields=(
        Field("time", Type.TIME, "time of the submission", "s", "Computation.start"),
        Field("computation", Type.NAME, "its id", "", "Computation.id"),
        Field("client", Type.NAME, "the client's id", "", "SchedulerPlugin.update_graph client"),
        Field(
            "code",
            Type.LONG,
            "the code that submitted it (wire/client_code/submitted_code.py)",
            "",
            "Computation.code",
            part="code",
        ),
        Field("groups", Type.JSON, "list of [group, number of tasks]", "", "Computation.groups"),
        Field("annotations", Type.JSON, "object", "", "SchedulerPlugin.update_graph annotations"),
        Field("spans", Type.JSON, "list of names, outermost first", "", "Span.name of spans extension"),
    ),
)
