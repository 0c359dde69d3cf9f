"""Workers, as the scheduler lists them. They start or update the lifetimes of workers."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="A worker as the scheduler lists it.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time at which it was seen", "s", "SchedulerPlugin.add_worker"),
        Field("address", Type.NAME, "address", "", "WorkerState.address"),
        Field("name", Type.NAME, "name", "", "WorkerState.name"),
        Field("host", Type.NAME, "host", "", "WorkerState.host"),
        Field("nthreads", Type.COUNT, "number of threads", "", "WorkerState.nthreads"),
        Field("memory_limit", Type.REAL, "memory limit; 0: none", "B", "WorkerState.memory_limit"),
        Field("status", Type.NAME, "running, paused, closing_gracefully …", "", "WorkerState.status"),
        Field("resources", Type.JSON, "object: amount of each resource", "", "WorkerState.resources"),
        Field(
            "detail",
            Type.JSON,
            "object: versions, pid, directory, dashboard (its HTTP port), instance type …",
            "",
            "WorkerState.versions, WorkerState.pid, WorkerState.local_directory, WorkerState.services",
        ),
    ),
    has_table=False,
)
