from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, RunId, open_run
from observatory.assistants.texts import Passage

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


async def logs(
    api: Api,
    run: RunId,
    match: Annotated[str, Field(max_length=500, description="part of a message or traceback")] = "",
    regex: Annotated[bool, Field(description="`match` is a regular expression (RE2)")] = False,
    level: Literal["debug", "info", "warning", "error", "critical"] = "debug",
    role: Literal["", "scheduler", "worker", "nanny"] = "",
    worker: Annotated[str, Field(max_length=200, description="name or address")] = "",
    start: Moment = None,
    stop: Moment = None,
    at: Moment = None,
    older: Annotated[str, Field(max_length=100, description="`older` of the answer before")] = "",
    newer: Annotated[str, Field(max_length=100, description="`newer` of the answer before")] = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 50,
) -> Answer:
    """Log lines of the scheduler, workers and nannies in a run: of `level` and above, with `match` in them,
    those nearest to the moment `at` (the run's end without one)."""
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    chosen = None if not worker else await reading.worker_id(worker)
    found = await reading.timeline(
        "/logs",
        **window,
        match=match or None,
        regex=regex or None,
        level=LEVELS[level],
        role=role or None,
        workers=chosen,
        at=reading.seconds(at),
        older=older or None,
        newer=newer or None,
        limit=limit,
    )
    recorded = {
        "lines": [_line(each) for each in found["lines"]],
        "older": found["older"],
        "newer": found["newer"],
        "searched_from": time_text(found["searched_from"]),
        "searched_to": time_text(found["searched_to"]),
    }
    return Answer(recorded, {"logs": reading.link("logs", at=reading.seconds(at))})


def _line(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": time_text(found["time"]),
        "level": found["level"],
        "role": found["role"],
        "worker": found["name"],
        "logger": found["logger"],
        "message": Passage(found["message"]),
        **({"traceback": Passage(found["traceback"])} if found["traceback"] else {}),
    }
