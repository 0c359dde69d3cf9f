"""What Dask's client did while a run was open."""

from __future__ import annotations

from observatory.wire.client_code.runs import ACTIVITIES
from observatory.wire.kind import Field, Importance, Kind, Label, Type

RECORD_KIND = Kind(
    meaning="What Dask's client did in a run of client code. They come with the end of the run.",
    importance=Importance.SAMPLES,
    fields=(
        Field("start", Type.TIME, "its start", "s", "observatory.run"),
        Field("stop", Type.TIME, "its end", "s", "observatory.run"),
        Field("run", Type.NAME, "id of the run: 32 hexadecimal digits", "", "observatory.run"),
        Field(
            "activity",
            Type.NAME,
            "optimizing, sending (packing the graph), gathering, waiting (in a call of Dask, also for the "
            "others); actor (waiting for what a method of an actor returns); code: all of the run, but what "
            "follows too many others. What is in no other activity is code of the client",
            "",
            "Expr.optimize, Client._graph_to_futures, Client._gather_remote, Client.sync, as_completed, "
            "ActorFuture.result",
            Label(ACTIVITIES, unknown=255, most=255),
        ),
    ),
    clips_stop=True,
)
