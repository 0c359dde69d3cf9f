"""Workers that imported what their first tasks needed, while these and others waited for the event loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.loops import (
    MODULES,
    WAITING,
    are_imports,
    without_stalls,
    worker_ticks,
)
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.thread_times.kinds import ThreadKind

LEAST_SHARE = 0.2
"""of the time of threads in which there was something to do: each worker imports once, whatever it does"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers whose event loop was blocked by imports while tasks waited there."""
    ticks = worker_ticks(evidence)
    ticks = ticks.only(are_imports(evidence, ticks))
    times, waited = ticks.by_worker(), ticks.waited(evidence)
    workers = sorted((id for id in waited if waited[id] > 0), key=lambda id: -waited[id])
    seconds = sum(waited.values())
    cost = evidence.cost(seconds)
    if seconds < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    samples = evidence.samples(MODULES, function="max")
    most = int(samples.value[np.isin(samples.worker, workers)].max())
    first = min(int(times[id].start[0]) for id in workers)
    yield Finding(
        f"{counted(len(workers), 'worker')} ({listed([evidence.worker(id) for id in workers])}) imported up "
        f"to {most:,} modules for their first tasks, on their event loops: threads waited "
        f"{format_duration(seconds)} until tasks that had been sent there began.",
        cost,
        facts(
            *((evidence.worker(id), format_duration(waited[id])) for id in workers[:5]),
            ("modules that a worker imported, up to", f"{most:,}"),
        ),
        (evidence.moment("imports begin", first / 1e6),),
        workers=tuple(workers),
        without=without_stalls(evidence, workers, seconds),
    )


KIND = FindingKind(
    title="imports of first tasks",
    advice="Import before tasks come: by `--preload`, a worker plugin or `client.run`. Import large "
    "libraries in the function that needs them. Workers that stay import once.",
    documentation="https://docs.dask.org/en/stable/how-to/customize-initialization.html",
    find=find,
    counts=(*WAITING, ThreadKind.OTHERS),
)
