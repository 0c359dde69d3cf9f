from __future__ import annotations

from typing import Any

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, RunId, names_of, open_run

FIGURES = {
    "cpu": "cpu_percent",
    "memory": "memory_bytes",
    "managed": "managed_bytes",
    "spilled": "spilled_bytes",
    "gil": "gil_contention_share",
    "running": "running_tasks",
}
MORE_FIGURES = {
    "event_loop": "event_loop_seconds",
    "processing": "processing_tasks",
    "occupancy": "occupancy_seconds",
}


async def workers(api: Api, run: RunId, at: Moment = None) -> Answer:
    """The workers of a run, with why each ended, and their figures at the moment `at` (the run's end without
    one); how processes differ in versions, configuration, hardware and labels; and what is the same."""
    reading = await open_run(api, run)
    found = (await reading.lanes())["workers"]
    names = names_of(found)
    moment = reading.seconds(at)
    if moment is None:
        moment = (await reading.timeline(""))["last"]
    state = await reading.timeline("/state", at=moment)
    figures = {each["id"]: each for each in state["workers"]}
    more = {each["id"]: each for each in await reading.timeline("/workers", at=moment)}
    facts = (await reading.timeline("/environment"))["facts"]
    recorded = {
        "at": time_text(moment),
        "workers": [
            {
                "worker": names[each["id"]],
                "address": each["address"],
                "host": each["host"],
                "threads": each["nthreads"],
                "memory_limit_bytes": each["memory_limit"],
                "started": time_text(each["started"]),
                "ended": time_text(each["ended"]),
                "end_reason": each["end_reason"],
                "labels": each["tags"],
                **_figures(figures.get(each["id"]), FIGURES),
                **_figures(more.get(each["id"]), MORE_FIGURES),
            }
            for each in found
        ],
        "differences": [_fact(each, names) for each in facts if each["differs"]],
        "same": {each["name"]: each["values"][0]["value"] for each in facts if _is_same(each)},
    }
    return Answer(recorded, {"workers": reading.link("workers", at=moment), "system": reading.link("system")})


def _figures(found: dict[str, Any] | None, names: dict[str, str]) -> dict[str, Any]:
    return {} if found is None else {name: found[field] for field, name in names.items()}


def _fact(found: dict[str, Any], names: dict[int | None, str]) -> dict[str, Any]:
    return {
        "kind": found["kind"],
        "name": found["name"],
        "scheduler": found["scheduler"],
        "client": found["client"],
        "values": [
            {
                "value": each["value"],
                "worker_count": each["count"],
                "workers": [names.get(one, str(one)) for one in each["workers"]],
            }
            for each in found["values"]
        ],
        "other_values": found["more_values"],
    }


def _is_same(found: dict[str, Any]) -> bool:
    return not found["differs"] and bool(found["values"])
