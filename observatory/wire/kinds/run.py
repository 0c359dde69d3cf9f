"""Runs that clients open and end. They become runs of the cluster."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, Type

RECORD_KIND = Kind(
    meaning="The start or the end of a run in client code: `with observatory.run(…)`.",
    importance=Importance.FAILURES,
    fields=(
        Field("time", Type.TIME, "time at which the scheduler was informed", "s", "time of the message"),
        Field("start", Type.TIME, "start of the run", "s", "time of the message"),
        Field("run", Type.NAME, "its id: 32 hexadecimal digits", "", "observatory.run"),
        Field("outcome", Type.NAME, "running, finished, erred", "", "observatory.run"),
        Field("name", Type.NAME, "its name", "", "observatory.run name"),
        Field("tags", Type.JSON, "object of texts", "", "observatory.run tags"),
        Field("user", Type.NAME, "the client's user of the operating system", "", "getpass.getuser()"),
        Field("code", Type.LONG, "the code that opened it", "", "inspect.getsource()"),
        Field("exception_type", Type.NAME, "class of the exception that ended it", "", "observatory.run"),
    ),
    has_table=False,
)
