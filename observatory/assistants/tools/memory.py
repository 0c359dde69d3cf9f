from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, ApiError
from observatory.assistants.run_reading import Moment, RunId, names_of, open_run

MOST_RESULTS = 40
KINDS = ("memory", "managed", "unmanaged", "spilled", "limit")


async def memory(
    api: Api,
    run: RunId,
    at: Moment,
    text: Annotated[str, Field(max_length=200, description="part of the keys that are wanted")] = "",
    worker: Annotated[str, Field(max_length=200, description="name or address")] = "",
) -> Answer:
    """What used the memory at a moment: the results in memory by key, the largest first, and by prefix, the
    memory of each worker, and the tasks by state. `metrics` has memory over time."""
    reading = await open_run(api, run)
    moment = reading.seconds(at)
    if moment is None:
        raise ApiError("`at` is needed: a moment of the run.")
    lanes = await reading.lanes()
    names = names_of(lanes["workers"])
    prefixes = {each["id"]: each["name"] for each in lanes["prefixes"]}
    chosen = await reading.worker_id(worker) if worker else None
    found = await reading.timeline("/results", at=moment, text=text or None, worker=chosen)
    state = await reading.timeline("/state", at=moment)
    sizes: Counter[str] = Counter()
    for each in found["results"]:
        sizes[prefixes.get(each["prefix"], str(each["prefix"]))] += each["nbytes"] or 0
    recorded = {
        "at": time_text(moment),
        "results_in_memory": _amount(found["total"]),
        "results_that_match": _amount(found["found"]),
        "results": [
            {
                "key": each["key"],
                "worker": names.get(each["worker"]),
                "size_bytes": each["nbytes"],
                "spilled_bytes": sum(place["nbytes"] for place in each["spilled"]),
                "since": time_text(each["since"]),
            }
            for each in found["results"][:MOST_RESULTS]
        ],
        "bytes_by_prefix": dict(sizes.most_common(30)),
        "workers": [
            {"worker": names.get(each["id"]), **{f"{kind}_bytes": each[kind] for kind in KINDS}}
            for each in state["workers"]
        ],
        "tasks_by_state": state["tasks"],
    }
    return Answer(recorded, {"memory": reading.link("memory", at=moment)})


def _amount(found: dict[str, Any]) -> dict[str, Any]:
    return {"results": found["count"], "size_bytes": found["nbytes"], "of_unknown_size": found["unsized"]}
