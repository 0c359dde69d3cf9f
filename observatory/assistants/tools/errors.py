from __future__ import annotations

import time
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, read
from observatory.assistants.run_reading import Records, RunId, open_run
from observatory.assistants.texts import Passage

MOST_KINDS, READ_ERRORS, MOST_FIRST = 25, 500, 6
DAY = 86_400


async def errors(
    api: Api,
    run: Annotated[RunId | None, Field(description="without one: errors of all runs")] = None,
    text: Annotated[str, Field(max_length=200, description="words in exception, message or place")] = "",
    project: Annotated[str, Field(max_length=200)] = "",
    days: Annotated[
        int | None, Field(ge=1, le=10_000, description="only kinds seen in the last days")
    ] = None,
) -> Answer:
    """What failed, by exception and place in the code: in how many runs, since when, how often. With a run
    the kinds that it has, with their figures in all runs (so whether it has failed before), and the first
    errors of the run in order of time, each with its traceback."""
    reading = None if run is None else await open_run(api, run)
    found = await read(
        api,
        "/errors",
        run=run,
        text=text or None,
        project=project or None,
        since=None if days is None else time.time() - days * DAY,
        page_size=MOST_KINDS,
    )
    recorded = {"kinds": [_kind(api, each) for each in found["items"]], "kinds_found": found["count"]}
    if reading is None:
        return Answer(recorded, {"errors": f"{api.url}/errors/"})
    records = await reading.records("error", READ_ERRORS)
    recorded["first_errors"] = _first_of_each(records)
    return Answer(recorded, {"run": reading.link(), "errors": f"{api.url}/errors/"})


def _kind(api: Api, found: dict[str, Any]) -> dict[str, Any]:
    names = ("headline", "exception_type", "place", "prefix", "runs", "clusters")
    return {
        **{name: found[name] for name in names},
        "message": Passage(found["message"]),
        "failed_attempts": found["count"],
        "retried": found["retried"],
        "killed": found["killed"],
        "first": time_text(found["first"]),
        "last": time_text(found["last"]),
        "newest_run": found["newest_run"],
        "newest_run_name": found["newest_run_name"],
        "link": f"{api.url}/runs/{found['newest_run']}/",
    }


def _first_of_each(records: Records) -> list[dict[str, Any]]:
    """The first error of each exception, in order of time."""
    first: dict[str, dict[str, Any]] = {}
    for each in records.rows():
        first.setdefault(each["exception_type"], each)
    return [
        {
            "time": time_text(each["time"]),
            "exception": each["exception_type"],
            "message": Passage(each["message"]),
            "key": each["key"],
            "prefix": each["prefix"],
            "worker": each["worker_name"] or each["worker"],
            "function": each["function"],
            "arguments": each["arguments"],
            "outcome": each["outcome"],
            "retries": each["retries"],
            "traceback": Passage(each["traceback"]),
        }
        for each in list(first.values())[:MOST_FIRST]
    ]
