"""Work stealing."""

from __future__ import annotations

from observatory.wire.columns import ColumnType
from observatory.wire.kind import As, Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="A request of the scheduler to move a task from one worker to another, or its outcome.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "time of the event", "s", "stealing event"),
        Field(
            "outcome",
            Type.NAME,
            "request, confirm, already-computing, reschedule, stale-response, already-aborted",
            "",
            "stealing event",
        ),
        Field("key", Type.KEY, "the task", "", "stealing event"),
        Field("victim", Type.NAME, "address of the worker that had the task", "", "stealing event"),
        Field("thief", Type.NAME, "address of the worker that should get it", "", "stealing event"),
        Field(
            "level",
            Type.INTEGER,
            "Dask's level of cost; -1: unknown",
            "",
            "stealing event",
            As(ColumnType.SMALLINT),
        ),
        Field("cost", Type.REAL, "expected cost of the move", "s", "stealing event"),
        Field("victim_occupancy", Type.REAL, "work that waits on the victim", "s", "stealing event"),
        Field("thief_occupancy", Type.REAL, "work that waits on the thief", "s", "stealing event"),
    ),
)
