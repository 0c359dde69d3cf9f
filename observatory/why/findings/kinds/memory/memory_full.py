"""Results that were spilled to disk, and workers that were paused, because memory was nearly full."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.loops import WAITING, without_stalls, worker_ticks
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.simulation.workers import AbsenceKind
from observatory.why.what_if.without import Without
from observatory.wire.records import Action

MEMORY = "observatory_worker_memory_bytes"
SPILLING = 1_000_000
"""microseconds between two uses of the disk by a worker that spills"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers whose memory was nearly full, but not by a growth (growing_memory.py)."""
    waits, time = evidence.waits, evidence.time
    grown = {one.worker: evidence.whole for one in evidence.growths}
    paused, disk = (
        waits.of_kind(kind) - waits.of_kind_during(kind, grown)
        for kind in (ThreadKind.PAUSED, ThreadKind.DISK)
    )
    blocked = _blocked_seconds(evidence, grown)
    cost = evidence.cost(paused + disk + blocked)
    own = {
        id: worker.seconds[ThreadKind.PAUSED] + worker.seconds[ThreadKind.DISK]
        for id, worker in time.workers.items()
        if id not in grown
    }
    workers = sorted((id for id in own if own[id] > 0), key=lambda id: -own[id])
    if not workers or not evidence.is_worth(cost):
        return
    spilled = evidence.samples(MEMORY, "spilled", "max")
    most = sum(float(spilled.value[spilled.worker == id].max()) for id in np.unique(spilled.worker).tolist())
    what = [
        f"{verb} for {format_duration(waits.seconds[kind])}"
        for kind, verb in ((ThreadKind.PAUSED, "were paused"), (ThreadKind.DISK, "waited for the disk"))
        if waits.seconds[kind] > 0
    ]
    if blocked:
        what.append(f"waited {format_duration(blocked)} for event loops that used the disk")
    kind = ThreadKind.PAUSED if paused >= disk else ThreadKind.DISK
    yield Finding(
        f"Memory was nearly full on {counted(len(workers), 'worker')} "
        f"({listed([evidence.worker(id) for id in workers])}): threads {listed(what)}.",
        cost,
        facts(
            ("paused", format_duration(waits.seconds[ThreadKind.PAUSED])),
            ("reading and writing spilled results", format_duration(waits.seconds[ThreadKind.DISK])),
            ("event loops that used the disk", format_duration(blocked) if blocked else None),
            ("spilled at most", format_bytes(most) if most else None),
            *((evidence.worker(id), format_duration(own[id])) for id in workers[:5]),
        ),
        (evidence.moment("most threads waited", evidence.peak(kind)),),
        workers=tuple(workers),
        without=_without(evidence, workers, paused + disk, blocked),
    )


def _without(evidence: Evidence, workers: Sequence[int], seconds: float, blocked: float) -> Without | None:
    """None: most of it are blocked event loops that can't be simulated."""
    absences = frozenset((AbsenceKind.PAUSED, id) for id in workers)
    never_full = Without(disk=frozenset(workers), absences=absences)
    stalled = without_stalls(evidence, workers, blocked) if blocked else None
    if stalled is None:
        return None if blocked > seconds else never_full
    return Without.of_all([never_full, stalled])


def _blocked_seconds(evidence: Evidence, grown: Container[int]) -> float:
    """How long threads waited for the event loops of workers, but of `grown` ones, while these used the disk.

    Dask spills on the event loop, and reads there what it sends to other workers.
    """
    spans = evidence.records.spans
    stored = spans.where(np.isin(spans.action, (Action.DISK_READ, Action.DISK_WRITE)))
    found = 0.0
    blocked = worker_ticks(evidence).by_worker()
    for id, times in ((id, blocked[id]) for id in blocked if id not in grown):
        using = stored.times.where(stored.worker == id).joined(SPILLING)
        both = times.without(times.without(using))
        found += sum(evidence.waits.of_kind_during(kind, {id: both}) for kind in WAITING)
    return found


KIND = FindingKind(
    title="spilling and paused workers",
    advice="Give workers more memory, make partitions smaller, or release results that aren't "
    "needed any more: "
    "`persist` less, and delete futures.",
    documentation="https://distributed.dask.org/en/stable/worker-memory.html",
    find=find,
    counts=(ThreadKind.PAUSED, ThreadKind.DISK, *WAITING, ThreadKind.OTHERS),
)
