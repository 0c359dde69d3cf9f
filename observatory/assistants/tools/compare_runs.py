from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, ApiError, read
from observatory.assistants.run_reading import RunId, open_run

MOST_PREFIXES = 25


async def compare_runs(
    api: Api,
    run: RunId,
    other: Annotated[int | None, Field(ge=1, lt=2**31, description="number of another run")] = None,
    last: Annotated[
        int | None, Field(ge=1, le=20, description="instead: the median of so many earlier runs of its name")
    ] = None,
) -> Answer:
    """Compares a run (a) with another one, or with the median of earlier runs of its name (b): whether it is
    slower, in which prefixes, with statistics, and what differs: findings, tags, versions, hardware."""
    if other is not None and last is not None:
        raise ApiError("Give `other` or `last`, not both.")
    reading = await open_run(api, run)
    against: dict[str, int] = {"last": last or 3} if other is None else {"b": other}
    found = await read(api, "/runs/compare", a=run, **against)
    prefixes = sorted(found["prefixes"], key=lambda each: -abs(each["cost"] or 0))
    recorded = {
        "a": _run(found["a"]),
        "b": [_run(each) for each in found["b"]],
        "figures": found["figures"],
        "prefixes": [_prefix(each) for each in prefixes[:MOST_PREFIXES]],
        "other_prefixes": max(len(prefixes) - MOST_PREFIXES, 0) + found["more_prefixes"],
        "findings": found["findings"]["pairs"],
        "differ": found["differ"],
    }
    return Answer(recorded, {"a": reading.link(), "b": f"{api.url}/runs/{found['b'][0]['id']}/"})


def _run(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": found["id"],
        "name": found["name"],
        "cluster_name": found["cluster"],
        "start": time_text(found["start"]),
        "duration_seconds": found["seconds"],
        "outcome": found["outcome"],
        "tags": found["tags"],
    }


def _prefix(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "prefix": found["name"],
        "verdict": found["verdict"],
        "times_as_long": found["ratio"],
        "cost_thread_seconds": found["cost"],
        "p_value": found["p"],
        "a": _side(found["a"]),
        "b": _side(found["b"]),
    }


def _side(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "tasks": found["count"],
        "compute_thread_seconds": found["seconds"],
        "shortest_seconds": found["shortest"],
        "longest_seconds": found["longest"],
    }
