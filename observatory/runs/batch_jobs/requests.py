"""What jobs with the same request used of it, and a request that would have been enough."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from observatory.runs.batch_jobs.jobs import Job, Place

MARGIN = 1.15
"""the least factor of the peak: of the next run's data, and of what other processes of a job use"""
NANNY = 150 * 2**20
"""bytes of the process of a nanny, which no sample has"""
TIED = 1.05
"""Where the limits of the workers of a job are at most this factor of its memory, they are made from it."""
MIB, GIB = 2**20, 2**30
STEPS = ((2 * GIB, 256 * MIB), (8 * GIB, 512 * MIB))
"""to which amounts up to a size are rounded; larger ones to GIB"""
WORTH = 0.9
"""A request for more than this part of what was asked is not worth a change."""
SHORTEST = 60.0
"""seconds with samples of memory, of all jobs with a request together, that say what is needed"""
KNOWN = 0.5
"""part of the time of these jobs that samples of memory must cover"""
MORE_CORES = 1.1
"""factor of the most cores that were used"""

Verdict = Literal["less", "fits", "spilled", "short", "not-asked", "unknown", "running"]
"""whether less memory would have been enough, or why nothing is recommended"""


@dataclass(frozen=True)
class Recommended:
    """Amounts on a node."""

    memory: int
    """bytes"""
    margin: float
    """by how much it is more than the peak: 0.2 is 20 %"""
    spills_at: float | None
    """the share of a worker's limit below which it stays with that; None: by the margin alone"""
    setting: str
    """as the batch system wants it: --mem=6G; "" where that depends on the site"""


@dataclass(frozen=True)
class Request:
    """Jobs that asked for the same on a node. Memory is in bytes."""

    system: str
    queue: str
    option: str
    memory: int | None
    cores: int | None
    jobs: int
    nodes: int
    """of these jobs, each counted for each job"""
    workers: int
    peak_memory: float | None
    """the most on a node of a job at a time"""
    peak_job: str
    """the job of that"""
    mean_memory: float | None
    """on a node of a job, over time"""
    spilled: float
    mean_cores: float | None
    most_cores: float | None
    waited: float | None
    """median of the jobs of which it is known, in seconds"""
    longest_wait: float | None
    waits_known: int
    verdict: Verdict
    recommended: Recommended | None
    fewer_cores: int | None
    """that would have been enough; None: not fewer than asked, or not known"""


def requests_of(jobs: Sequence[Job], is_running: bool) -> list[Request]:
    """Return the requests, that of most nodes first. `is_running`: the window isn't at its end."""
    grouped: defaultdict[tuple[str, str, str, int, int], list[tuple[Job, Place]]] = defaultdict(list)
    for job in jobs:
        for place in job.places:
            asked = place.asked
            key = (asked.system, asked.queue, asked.option, asked.memory or 0, asked.cores or 0)
            grouped[key].append((job, place))
    requests = [_request(places, is_running) for places in grouped.values()]
    return sorted(requests, key=lambda request: -request.nodes)


def _request(found: list[tuple[Job, Place]], is_running: bool) -> Request:
    places = [place for _, place in found]
    asked = places[0].asked
    peaks = [(place.peak_memory, job.told.id) for job, place in found if place.peak_memory is not None]
    peak, peak_job = max(peaks, default=(None, ""))
    waits = [job.told.waited for job in {id(job): job for job, _ in found}.values()]
    known_waits = [wait for wait in waits if wait is not None]
    most_cores = max((place.most_cores for place in places if place.most_cores is not None), default=None)
    verdict, recommended = _memory(places, peak, is_running)
    is_evident = verdict in ("less", "fits", "spilled", "not-asked") and _is_evident(places)
    return Request(
        system=asked.system,
        queue=asked.queue,
        option=asked.option,
        memory=asked.memory,
        cores=asked.cores,
        jobs=len(waits),
        nodes=len(places),
        workers=sum(place.slots for place in places),
        peak_memory=peak,
        peak_job=peak_job,
        mean_memory=_mean([(place.mean_memory, place.seconds) for place in places]),
        spilled=max(place.spilled for place in places),
        mean_cores=_mean([(place.mean_cores, place.seconds) for place in places]),
        most_cores=most_cores,
        waited=median(known_waits) if known_waits else None,
        longest_wait=max(known_waits, default=None),
        waits_known=len(known_waits),
        verdict=verdict,
        recommended=recommended,
        fewer_cores=_fewer_cores(asked.cores, most_cores) if is_evident else None,
    )


def _memory(
    places: Sequence[Place], peak: float | None, is_running: bool
) -> tuple[Verdict, Recommended | None]:
    asked = places[0].asked.memory
    if not asked:
        return "not-asked", None
    if peak is None:
        return "unknown", None
    if is_running:
        return "running", None
    if any(place.spilled for place in places):
        return "spilled", None
    if not _is_evident(places):
        return "short", None
    needs = [_needed(place, asked) for place in places if place.peak_memory is not None]
    needed, spills_at = max(needs, key=lambda need: need[0])
    memory = _rounded(needed)
    if memory > WORTH * asked:
        return "fits", None
    setting = _setting(places[0], memory)
    return "less", Recommended(memory, memory / peak - 1 if peak else 0.0, spills_at, setting)


def _is_evident(places: Sequence[Place]) -> bool:
    known = sum(place.known_seconds for place in places)
    return known >= SHORTEST and known >= KNOWN * sum(place.seconds for place in places)


def _needed(place: Place, asked: int) -> tuple[float, float | None]:
    """The bytes that a place needs, and the threshold of Dask that says so.

    Where the limits of workers come from the memory of the job, they shrink with it: a worker that had 5 GiB
    of 16 spills at 70 % of 6.
    """
    plain = MARGIN * (place.peak_memory or 0.0) + NANNY * place.nannies
    if not 0 < place.limits <= TIED * asked:
        return plain, None
    share = place.limits / asked
    spill, target = place.threshold("spill", "pause", "terminate"), place.threshold("target")
    of_one = max(
        (place.most_of_one or 0.0) / spill if spill else 0.0,
        (place.managed_of_one or 0.0) / target if target else 0.0,
    )
    without_spilling = of_one * place.slots / min(share, 1.0)
    return (without_spilling, spill) if without_spilling > plain else (plain, None)


def _rounded(amount: float) -> int:
    step = next((step for most, step in STEPS if amount <= most), GIB)
    return math.ceil(amount / step) * step


def _setting(place: Place, memory: int) -> str:
    asked = place.asked
    match asked.system, asked.option:
        case "slurm", "--mem":
            return f"--mem={_short(memory)}"
        case "slurm", "--mem-per-cpu" if asked.cores:
            return f"--mem-per-cpu={math.ceil(memory / asked.cores / MIB)}M"
        case "pbs", "mem" if asked.nodes in (None, 1):  # it is of the whole job
            return f"mem={memory // MIB}mb"
        case "htcondor", "request_memory":
            return f"request_memory = {memory // MIB} MB"
    return ""


def _short(memory: int) -> str:
    return f"{memory // GIB}G" if memory % GIB == 0 else f"{memory // MIB}M"


def _fewer_cores(asked: int | None, most: float | None) -> int | None:
    if not asked or most is None:
        return None
    needed = max(1, math.ceil(MORE_CORES * most))
    return needed if needed < asked else None


def _mean(values: Sequence[tuple[float | None, float]]) -> float | None:
    """Weighted by seconds."""
    known = [(value, seconds) for value, seconds in values if value is not None]
    weight = sum(seconds for _, seconds in known)
    return sum(value * seconds for value, seconds in known) / weight if weight else None
