"""What is kept with a run, and with each day of usage, of the batch jobs in which its workers ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import psycopg

from observatory.runs.batch_jobs.jobs import Job, Place, jobs_in_window, jobs_with_means
from observatory.runs.batch_jobs.requests import requests_of

MOST_JOBS = 100
MOST_REQUESTS = 10
MOST_NODES = 20
"""that are named, of a job"""
USAGE = (
    *("jobs", "wait_seconds", "asked_core_seconds", "used_core_seconds"),
    *("asked_memory_seconds", "used_memory_seconds"),
)
"""fields of Usage"""

Item = dict[str, Any]


def batch_jobs_of(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, is_running: bool
) -> Item | None:
    """Return the jobs of a window as the card of a run has them; None without any."""
    jobs = jobs_in_window(connection, cluster, start, stop)
    if not jobs:
        return None
    requests = requests_of(jobs, is_running)
    return {
        "count": len(jobs),
        "workers": len({worker.slot for job in jobs for place in job.places for worker in place.workers}),
        "jobs": [_item(job) for job in jobs[:MOST_JOBS]],
        "requests": [asdict(request) for request in requests[:MOST_REQUESTS]],
        "request_count": len(requests),
        "usage": usage_of(jobs, start, stop),
    }


def usage_in_window(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> dict[str, float]:
    """Return the amounts of the jobs of a window, as fields of Usage."""
    return usage_of(jobs_with_means(connection, cluster, start, stop), start, stop)


def usage_of(jobs: Sequence[Job], start: datetime, stop: datetime) -> dict[str, float]:
    """Cores and memory count where both are known: what was asked, and what was used.

    A job, and its wait, counts in the window in which it began.
    """
    begun = [job for job in jobs if job.begins_in(start, stop)]
    places = [place for job in jobs for place in job.places]
    cores = [
        (place.asked.cores, place.mean_cores, place.seconds)
        for place in places
        if place.asked.cores and place.mean_cores is not None
    ]
    memory = [
        (place.asked.memory, place.mean_memory, place.seconds)
        for place in places
        if place.asked.memory and place.mean_memory is not None
    ]
    return {
        "jobs": len(begun),
        "wait_seconds": sum(job.told.waited or 0.0 for job in begun),
        "asked_core_seconds": sum(asked * seconds for asked, _, seconds in cores),
        "used_core_seconds": sum(used * seconds for _, used, seconds in cores),
        "asked_memory_seconds": sum(asked * seconds for asked, _, seconds in memory),
        "used_memory_seconds": sum(used * seconds for _, used, seconds in memory),
    }


def _item(job: Job) -> Item:
    told, places = job.told, job.places
    return {
        "system": told.system,
        "id": told.id,
        "array": told.array,
        "restarts": told.restarts,
        "name": told.name,
        "queue": told.queue,
        "account": told.account,
        "hosts": [place.host for place in places[:MOST_NODES]],
        "nodes": len(places),
        "workers": sum(place.slots for place in places),
        "cores": _most(place.asked.cores for place in places),
        "memory": _most(place.asked.memory for place in places),
        "time_limit": told.time_limit,
        "started": job.begun,
        "waited": told.waited,
        "seconds": max(place.ended - place.begun for place in places),
        "peak_memory": _most(place.peak_memory for place in places),
        "spilled": max(place.spilled for place in places),
        "mean_cores": _mean_cores(places),
    }


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean_cores(places: Sequence[Place]) -> float | None:
    """On a node of the job."""
    known = [(place.mean_cores, place.seconds) for place in places if place.mean_cores is not None]
    weight = sum(seconds for _, seconds in known)
    return sum(cores * seconds for cores, seconds in known) / weight if weight else None
