from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, ApiError, read
from observatory.assistants.run_reading import RunId, RunReading, open_run
from observatory.assistants.texts import REPLACED, Passage, shown

MOST_STATES, MOST_ERRORS, MOST_RELATED = 100, 5, 30
CUT = re.compile(r"… \(\d+ characters more\)$")
LONGEST_SEARCH = 500


async def task(
    api: Api,
    run: RunId,
    key: Annotated[str, Field(min_length=1, max_length=10_000, description="whole key, as answers have it")],
) -> Answer:
    """The story of one task: where and when it computed, its states, what it needed and who needed it, the
    data that was fetched for it, steals, and its errors."""
    reading = await open_run(api, run)
    key = await _recorded_key(reading, key)
    lineage = await reading.timeline("/lineage", key=key)
    lanes = await reading.lanes()
    names = {each["id"]: each["name"] or each["address"] for each in lanes["workers"]}
    of_lane = {each["id"]: names.get(each["worker"]) for each in lanes["lanes"]}
    states = await reading.records("transition", MOST_STATES, column="key", value=key)
    failures = await reading.records("error", MOST_ERRORS, column="key", value=key)
    recorded = {
        "key": key,
        "computed": [_span(each, of_lane) for each in lineage["spans"]],
        "needs": _related(lineage["dependencies"], of_lane),
        "is_needed_by": _related(lineage["dependents"], of_lane),
        "fetched": [
            {
                "to_worker": of_lane.get(each["lane"]),
                "from_worker": names.get(each["peer"]),
                "start": time_text(each["start"]),
                "duration_seconds": each["stop"] - each["start"],
                "size_bytes": each["nbytes"],
                "keys": [one["key"] for one in each["keys"]],
            }
            for each in lineage["transfers"]
        ],
        "steals": [
            {
                "time": time_text(each["time"]),
                "from_worker": names.get(each["victim"]),
                "to_worker": names.get(each["thief"]),
                "expected_cost_seconds": each["cost"],
            }
            for each in lineage["steals"]
        ],
        "states": [
            {
                "time": time_text(each["time"]),
                "from": each["start"],
                "to": each["finish"],
                "worker": each["worker_name"] or each["worker"],
            }
            for each in states.rows()
        ],
        "errors": [_error(each) for each in failures.rows()],
    }
    computed = lineage["spans"]
    return Answer(recorded, {"task_stream": reading.link(at=computed[0]["start"] if computed else None)})


async def _recorded_key(reading: RunReading, key: str) -> str:
    """The key as it was recorded: answers show long ones, and those with hidden characters, differently."""
    begun = CUT.sub("", key)
    if begun == key and REPLACED not in key:
        return key
    part = max(re.split(f"[{REPLACED}\n\t]", begun), key=len)[:LONGEST_SEARCH].strip()
    if not part:
        raise ApiError("The key has nothing in it that can be searched for.")
    path = f"/clusters/{reading.facts['cluster']}/search"
    tasks = (await read(reading.api, path, q=part, limit=200))["tasks"]
    same: set[str] = {each["key"] for each in tasks if shown(each["key"], len(begun)) == key}
    if len(same) != 1:
        raise ApiError(f"{len(same)} tasks have such a key, of {len(tasks)} with {part[:100]!r} in it.")
    return same.pop()


def _span(found: dict[str, Any], of_lane: dict[int, str | None]) -> dict[str, Any]:
    return {
        "worker": of_lane.get(found["lane"]),
        "start": time_text(found["start"]),
        "duration_seconds": found["stop"] - found["start"],
    }


def _related(found: dict[str, Any], of_lane: dict[int, str | None]) -> dict[str, Any]:
    tasks = [
        {"key": each["key"], "computed": [_span(one, of_lane) for one in each["spans"]]}
        for each in found["tasks"][:MOST_RELATED]
    ]
    return {"total": found["total"], "tasks": tasks}


def _error(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": time_text(found["time"]),
        "outcome": found["outcome"],
        "exception": found["exception_type"],
        "message": Passage(found["message"]),
        "traceback": Passage(found["traceback"]),
        "worker": found["worker_name"] or found["worker"],
    }
