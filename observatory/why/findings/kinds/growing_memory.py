"""Unmanaged memory of workers that grew throughout, as where code leaks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence, counted, facts, listed
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.samples import Samples

MEMORY = "observatory_worker_memory_bytes"
LEAST_SHARE = 0.3
"""of the worker's memory limit, by which it grew"""
LEAST_SECONDS, FEWEST = 60.0, 20
"""of a worker's samples: the time that they span, and their number"""
LEAST_FIT = 0.8
"""square of the correlation of memory and time"""


@dataclass(frozen=True, slots=True)
class Growth:
    worker: int
    nbytes: float
    rate: float
    """bytes a second"""
    first: float
    """seconds"""
    full_after: float
    """seconds from the end of the window until the limit is reached"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers. It costs nothing until a worker spills, pauses or dies."""
    samples = evidence.samples(MEMORY, "unmanaged")
    ids = np.unique(samples.worker).tolist()
    grown = [one for id in ids if (one := _growth(evidence, samples, id)) is not None]
    if not grown:
        return
    grown.sort(key=lambda one: -one.nbytes)
    most = grown[0]
    soonest = min(one.full_after for one in grown)
    yield Finding(
        f"Unmanaged memory grew steadily on {counted(len(grown), 'worker')} "
        f"({listed([evidence.worker(one.worker) for one in grown])}), by up to {format_bytes(most.nbytes)}. "
        f"At this rate the first one is full after another {format_duration(soonest)}.",
        Cost(),
        facts(
            *(
                (evidence.worker(one.worker), f"{format_bytes(one.nbytes)}, {format_bytes(one.rate)}/s")
                for one in grown[:10]
            )
        ),
        (evidence.moment("the growth begins", most.first),),
        workers=tuple(one.worker for one in grown),
    )


def _growth(evidence: Evidence, samples: Samples, worker: int) -> Growth | None:
    rows = np.flatnonzero(samples.worker == worker)
    known = evidence.ends.get(worker)
    if known is None or not known.memory_limit or len(rows) < FEWEST:
        return None
    times, values = samples.times.stop[rows] / 1e6, samples.value[rows]
    seconds = float(times[-1] - times[0])
    if seconds < LEAST_SECONDS or not values.std():
        return None
    fit = float(np.corrcoef(times, values)[0, 1])
    rate = float(np.polyfit(times - times[0], values, 1)[0])
    if rate * seconds < LEAST_SHARE * known.memory_limit or fit < 0 or fit**2 < LEAST_FIT:
        return None
    left = max(0.0, known.memory_limit - float(values[-1]))
    return Growth(worker, rate * seconds, rate, float(times[0]), left / rate)


KIND = FindingKind(
    title="unmanaged memory that grows",
    advice="Memory that Dask doesn't manage stays after tasks: caches and globals in functions, or "
    "memory that the "
    "allocator doesn't return (`Client.run` with `malloc_trim`). Restart workers now and then with "
    "`--lifetime`.",
    documentation="https://distributed.dask.org/en/stable/worker-memory.html",
    find=find,
    explained_by=("worker-died",),
)
