"""Results that were spilled to disk, and workers that were paused, because memory was nearly full."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence, counted, facts, listed
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Without
from observatory.why.what_if.workers import AbsenceKind

MEMORY = "observatory_worker_memory_bytes"


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers whose memory was nearly full, but not by a growth (growing_memory.py)."""
    waits, time = evidence.waits, evidence.time
    grown = {one.worker: evidence.whole for one in evidence.growths}
    paused, disk = (
        waits.of_kind(kind) - waits.of_kind_during(kind, grown)
        for kind in (ThreadKind.PAUSED, ThreadKind.DISK)
    )
    cost = evidence.cost(paused + disk)
    if not evidence.is_worth(cost):
        return
    own = {
        id: worker.seconds[ThreadKind.PAUSED] + worker.seconds[ThreadKind.DISK]
        for id, worker in time.workers.items()
        if id not in grown
    }
    workers = sorted((id for id in own if own[id] > 0), key=lambda id: -own[id])
    spilled = evidence.samples(MEMORY, "spilled", "max")
    most = sum(float(spilled.value[spilled.worker == id].max()) for id in np.unique(spilled.worker).tolist())
    what = [
        f"{verb} for {format_duration(waits.seconds[kind])}"
        for kind, verb in ((ThreadKind.PAUSED, "were paused"), (ThreadKind.DISK, "waited for the disk"))
        if waits.seconds[kind] > 0
    ]
    kind = ThreadKind.PAUSED if paused >= disk else ThreadKind.DISK
    yield Finding(
        f"Memory was nearly full on {counted(len(workers), 'worker')} "
        f"({listed([evidence.worker(id) for id in workers])}): threads {' and '.join(what)}.",
        cost,
        facts(
            ("paused", format_duration(waits.seconds[ThreadKind.PAUSED])),
            ("reading and writing spilled results", format_duration(waits.seconds[ThreadKind.DISK])),
            ("spilled at most", format_bytes(most) if most else None),
            *((evidence.worker(id), format_duration(own[id])) for id in workers[:5]),
        ),
        (evidence.moment("most threads waited", evidence.peak(kind)),),
        workers=tuple(workers),
        without=Without(
            disk=frozenset(workers), absences=frozenset((AbsenceKind.PAUSED, id) for id in workers)
        ),
    )


KIND = FindingKind(
    title="spilling and paused workers",
    advice="Give workers more memory, make partitions smaller, or release results that aren't "
    "needed any more: "
    "`persist` less, and delete futures.",
    documentation="https://distributed.dask.org/en/stable/worker-memory.html",
    find=find,
    counts=(ThreadKind.PAUSED, ThreadKind.DISK, ThreadKind.OTHERS),
)
