from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, ApiError
from observatory.assistants.run_reading import Moment, RunId, RunReading, open_run

MOST_NEEDED = 10
DURATIONS = ("shortest", "median", "p95", "longest")
WAITS = {
    "waiting": "waiting_for_what_it_needs_seconds",
    "queued": "queued_seconds",
    "processing": "processing_seconds",
}
"""seconds of all tasks in states of Dask before and while they compute"""


async def prefixes(
    api: Api,
    run: RunId,
    prefix: Annotated[str, Field(max_length=1_000, description="its name, for its details")] = "",
    start: Moment = None,
    stop: Moment = None,
) -> Answer:
    """The tasks of a run by prefix, those that computed longest first: counts, durations, transfers, disk,
    errors, retries; the graph between prefixes, and where tasks waited. With `prefix` its details: slowest
    tasks, workers, groups, and where the time of its tasks went (fine performance)."""
    reading = await open_run(api, run)
    window = await reading.window(start, stop)
    address = {"from": window.get("after"), "to": window.get("before")}
    listed = (await reading.timeline("/prefixes", **window))["prefixes"]
    graph = await reading.timeline("/group-graph", **window)
    links = {tab: reading.link(tab, **address) for tab in ("tasks", "graph")}
    waits, needed = _waits(graph), _needed(graph, {each["prefix"]: each["name"] for each in listed})
    found = [
        {
            **_figures(each),
            **waits.get(each["prefix"], {}),
            "needs": needed.get(each["prefix"], []),
        }
        for each in listed
    ]
    if not prefix:
        return Answer({"prefixes": found}, links)
    for each, figures in zip(listed, found, strict=True):
        if each["name"] == prefix:
            return Answer({**figures, **await _details(reading, each, window)}, links)
    raise ApiError(f"The run has no tasks of the prefix {prefix[:100]!r}: `prefixes` lists all.")


async def _details(reading: RunReading, chosen: dict[str, Any], window: dict[str, float]) -> dict[str, Any]:
    found = await reading.timeline(f"/prefixes/{chosen['prefix']}", **window)
    fine = await reading.timeline("/fine-performance", **window)
    names = await reading.worker_names()
    return {
        "slowest_tasks": [
            {
                "key": each["key"],
                "worker": names.get(each["worker"]),
                "start": time_text(each["start"]),
                "duration_seconds": each["stop"] - each["start"],
                "erred": each["erred"],
            }
            for each in found["slowest"]
        ],
        "by_worker": [
            {
                "worker": names.get(each["worker"]),
                "tasks": each["tasks"],
                "compute_thread_seconds": each["seconds"],
                "longest_seconds": each["longest"],
            }
            for each in found["workers"]
        ],
        "groups": [_durations(each) | {"group": each["name"]} for each in found["groups"]],
        "where_its_time_went": [
            {"context": each["context"], "activity": each["activity"], each["unit"]: each["value"]}
            for each in fine["activities"]
            if each["name"] == chosen["name"]
        ],
    }


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "prefix": found["name"],
        **_durations(found),
        "transfer_thread_seconds": found["transfer"],
        "received_bytes": found["received"],
        "disk_thread_seconds": found["disk"],
        "serialization_thread_seconds": found["serialization"],
        "errors": found["errors"],
        "retries": found["retries"],
        "workers": found["workers"],
    }


def _durations(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "tasks": found["tasks"],
        "compute_thread_seconds": found["seconds"],
        **{f"{name}_seconds": found[name] for name in DURATIONS},
        "results_bytes": found["nbytes"],
    }


def _waits(graph: dict[str, Any]) -> dict[int, dict[str, float]]:
    """By prefix: the seconds of its tasks in each state."""
    found: dict[int, dict[str, float]] = defaultdict(lambda: dict.fromkeys(WAITS.values(), 0.0))
    for group in graph["groups"]:
        for field, name in WAITS.items():
            found[group["prefix"]][name] += group[field] or 0.0
    return dict(found)


def _needed(graph: dict[str, Any], names: dict[int, str]) -> dict[int, list[str]]:
    """By prefix: the names of those whose results its tasks need."""
    found: dict[int, dict[str, None]] = defaultdict(dict)
    groups, edges = graph["groups"], graph["edges"]
    for task, needed in zip(edges["task"], edges["needed"], strict=True):
        name = names.get(groups[needed]["prefix"], groups[needed]["name"])
        found[groups[task]["prefix"]][name] = None
    return {prefix: list(needed)[:MOST_NEEDED] for prefix, needed in found.items()}
