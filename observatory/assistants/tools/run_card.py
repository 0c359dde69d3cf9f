from __future__ import annotations

from typing import Any

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api, read
from observatory.assistants.run_reading import RunId, open_run
from observatory.assistants.texts import Passage

MOST_PREFIXES, MOST_COMPUTATIONS, MOST_JOBS = 10, 5, 10
AS_THEY_ARE = ("outcome", "user", "tags", "tasks", "errors", "workers", "threads")


async def run_card(api: Api, run: RunId) -> Answer:
    """What a run did, in short: outcome, first error, main finding, duration against earlier runs of its
    name, its tasks by state, busiest prefixes, cost, the batch jobs of its workers with a request that
    would have been enough, and the code that submitted it."""
    reading = await open_run(api, run)
    card = await read(api, f"{reading.path}/card")
    facts = reading.facts
    recorded = {
        "run": run,
        "name": card["name"],
        "project": facts["project"],
        "cluster": facts["cluster"],
        "cluster_name": facts["cluster_name"],
        **{name: card[name] for name in AS_THEY_ARE},
        "start": time_text(card["start"]),
        "stop": time_text(card["stop"]),
        "duration_seconds": None if card["stop"] is None else card["stop"] - card["start"],
        "worker_lifetimes": card["lifetimes"],
        "tasks_by_state": card["progress"],
        "memory_limit_bytes": card["memory_limit"],
        "peak_memory_bytes": card["peak_memory"],
        "transferred_bytes": card["transferred"],
        "first_error": _with_time(card["first_error"]),
        "raised_by_its_code": _raised(card["raised"]),
        "main_finding": card["main_finding"],
        "batch_jobs": _batch_jobs(card["batch_jobs"]),
        "against_earlier_runs": card["history"],
        "cost": card["cost"],
        "time_of_threads": [
            {"what": each["name"], "thread_seconds": each["seconds"], "share": each["share"]}
            for each in card["times"]
        ],
        "prefixes": [_prefix(each) for each in card["prefixes"][:MOST_PREFIXES]],
        "code": Passage(card["code"] or ""),
        "computations": [
            {
                "start": time_text(each["time"]),
                "tasks": each["tasks"],
                "duration_seconds": each["seconds"],
                "code": Passage(each["code"]),
            }
            for each in card["computations"][:MOST_COMPUTATIONS]
        ],
        "computation_count": card["computation_count"],
        "notes": [_with_time(each) for each in card["notes"]],
    }
    return Answer(recorded, {"run": reading.link(), "why": reading.link("why")})


def _prefix(found: dict[str, Any]) -> dict[str, Any]:
    durations = {f"{name}_seconds": found[name] for name in ("shortest", "median", "p95", "longest")}
    return {
        "prefix": found["name"],
        "tasks": found["tasks"],
        "compute_thread_seconds": found["seconds"],
        "compute_share": found["share"],
        **durations,
    }


def _batch_jobs(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Memory is in bytes, times are in seconds."""
    return None if found is None else {**found, "jobs": [_job(each) for each in found["jobs"][:MOST_JOBS]]}


def _job(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "started": time_text(found["started"])}


def _raised(found: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if found is None else {**found, "traceback": Passage(found["traceback"])}


def _with_time(found: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if found is None else {**found, "time": time_text(found["time"])}
