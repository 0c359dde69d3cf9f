from __future__ import annotations

from typing import Any

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, RunId, RunReading, open_run
from observatory.assistants.texts import Passage

MOST_WAITED_FOR, MOST_FUNCTIONS = 10, 12


async def why(api: Api, run: RunId, start: Moment = None, stop: Moment = None) -> Answer:
    """Why a run took as long as it did, or failed: findings with cost, evidence and advice, the most costly
    first; what all threads did and waited for; the tasks that others waited for; stragglers; the functions
    that ran, by their share of the profile's samples; and the functions' and prefixes' waits for the GIL."""
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    found = await reading.timeline("/findings", **window)
    times = await reading.timeline("/thread-times", **window)
    outliers = await reading.timeline("/outliers", **window)
    names = await reading.worker_names()
    prefixes = {each["prefix"]: each["name"] for each in times["prefixes"]}
    recorded = {
        "has_agent": found["has_agent"],
        "findings": [_finding(each, names) for each in found["findings"]],
        "thread_seconds": {each["title"]: each["seconds"] for each in times["kinds"] if each["seconds"] > 0},
        "waited_for": [
            {**_task(each, names), "idle_thread_seconds": each["seconds"]}
            for each in times["waited_for"][:MOST_WAITED_FOR]
        ],
        "stragglers": [
            {**_task(each, names), "times_the_median": each["ratio"]} for each in outliers["tasks"]
        ],
        "gil_wait_thread_seconds": {
            each["name"]: each["gil"] for each in times["prefixes"] if each["gil"] > 0
        },
        **_functions(times["computing"], prefixes),
    }
    return Answer(recorded, _links(reading, window))


def _finding(found: dict[str, Any], names: dict[int | None, str]) -> dict[str, Any]:
    return {
        "kind": found["kind"],
        "is_failure": found["is_failure"],
        "sentence": found["sentence"],
        "cost_thread_seconds": found["thread_seconds"],
        "cost_wall_seconds": found["wall_seconds"],
        "cost_wall_seconds_between": _between(found),
        "wall_seconds_of_all_findings_together": found["together_seconds"] or None,
        "facts": {each["label"]: each["value"] for each in found["facts"]},
        "moments": {each["label"]: time_text(each["time"]) for each in found["moments"]},
        "tasks": [each["key"] for each in found["tasks"]],
        "workers": [names.get(each, str(each)) for each in found["workers"]],
        "advice": Passage(found["advice"]),
        "documentation": found["documentation"],
        "marked_as": (found.get("mark") or {}).get("marked_as"),
    }


def _between(found: dict[str, Any]) -> list[float] | None:
    """None: the cost is a sum of times, not simulated."""
    least, most = found["least_wall_seconds"], found["most_wall_seconds"]
    return None if least is None else [least, most]


def _task(found: dict[str, Any], names: dict[int | None, str]) -> dict[str, Any]:
    return {
        "key": found["key"],
        "worker": names.get(found["worker"]),
        "start": time_text(found["start"]),
        "duration_seconds": found["stop"] - found["start"],
    }


def _functions(computing: dict[str, Any], prefixes: dict[int, str]) -> dict[str, Any]:
    functions = [
        {
            "function": each["name"],
            "file": each["file"],
            "line": each["line"],
            "prefix": prefixes.get(each["prefix"]),
            "share": each["share"],
        }
        for each in (computing.get("functions") or [])[:MOST_FUNCTIONS]
    ]
    return {"profile_samples": computing["samples"], "functions": functions}


def _links(reading: RunReading, window: dict[str, float]) -> dict[str, str]:
    address = {"from": window.get("after"), "to": window.get("before")}
    return {tab: reading.link(tab, **address) for tab in ("why", "profile")}
