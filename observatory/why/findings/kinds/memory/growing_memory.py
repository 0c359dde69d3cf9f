"""Unmanaged memory of workers that grew, as where code leaks it, and what it led to."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.simulation.workers import AbsenceKind
from observatory.why.what_if.without import Without

FULL = (ThreadKind.PAUSED, ThreadKind.DISK)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers. It costs nothing until a worker spills, pauses or dies."""
    grown = evidence.growths
    if not grown:
        return
    most, longest = grown[0], max(one.last - one.first for one in grown)
    whole = {one.worker: evidence.whole for one in grown}
    seconds = sum(evidence.waits.of_kind_during(kind, whole) for kind in FULL)
    paused = sum(evidence.own_seconds(one.worker, ThreadKind.PAUSED) for one in grown)
    if paused > 0:
        then = f"Then threads were paused for {format_duration(paused)}."
    elif growing := [one for one in grown if evidence.stop / 1e6 - one.last < one.last - one.first]:
        soonest = min(one.full_after for one in growing)
        then = f"At this rate the first one is full after another {format_duration(soonest)}."
    else:
        then = "It stayed there."
    yield Finding(
        f"Unmanaged memory grew steadily on {counted(len(grown), 'worker')} "
        f"({listed([evidence.worker(one.worker) for one in grown])}), by up to {format_bytes(most.nbytes)} "
        f"in {format_duration(longest)}, and did not come back. {then}",
        evidence.cost(seconds),
        facts(
            *(
                (
                    evidence.worker(one.worker),
                    f"{format_bytes(one.nbytes)} more, {format_bytes(one.rate)}/s, to "
                    f"{format_bytes(one.reached)} of {format_bytes(one.limit)}",
                )
                for one in grown[:10]
            ),
            ("paused", format_duration(paused) if paused else None),
        ),
        (evidence.moment("the growth begins", most.first), evidence.moment("it ends", most.last)),
        workers=tuple(one.worker for one in grown),
        without=Without(disk=frozenset(whole), absences=frozenset((AbsenceKind.PAUSED, id) for id in whole))
        if seconds
        else None,
    )


KIND = FindingKind(
    title="unmanaged memory that grows",
    advice="Memory that Dask doesn't manage stays after tasks: caches and globals in functions, or "
    "memory that the "
    "allocator doesn't return (`Client.run` with `malloc_trim`). Restart workers now and then with "
    "`--lifetime`.",
    documentation="https://distributed.dask.org/en/stable/worker-memory.html",
    find=find,
    counts=(*FULL, ThreadKind.OTHERS),
    explained_by=("worker-died",),
)
