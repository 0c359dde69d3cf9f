"""GPUs that were idle while tasks of their workers prepared data on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.idle_gpus import IdleGpu
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Numbers
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

LEAST_SHARE = 0.4
"""of the time in which tasks ran, in which the GPU was idle"""
OF_HOST = 0.5
"""share of the time of a prefix in which the GPU was idle, from which its tasks work on the host"""
NAMED_SHARE = 0.1
"""of the idle time, from which a prefix is named"""
LISTED = 5


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers whose GPU was idle for much of the time."""
    found = [one for one in evidence.idle_gpus if one.idle_while_running >= LEAST_SHARE * one.running]
    if not found:
        return
    idle = _of_rows(evidence, [(one, one.idle) for one in found])
    known = _of_rows(evidence, [(one, one.known) for one in found])
    prefixes = _of_host(evidence, idle, known)
    is_of_host = np.isin(evidence.computations.spans.prefix, prefixes)
    saved = np.where(
        is_of_host, _of_rows(evidence, [(one, one.idle * one.overlapping) for one in found]), 0.0
    )
    cost = evidence.cost(float(saved.sum()))
    if not prefixes or not evidence.is_worth(cost):
        return
    rows = np.argsort(-np.where(is_of_host, idle, 0.0), kind="stable")[:LISTED]
    running = sum(one.running for one in found)
    share = sum(one.idle_while_running for one in found) / running
    first = float(evidence.computations.spans.times.start[rows[0]]) / 1e6
    names = listed([evidence.prefix(id) for id in prefixes])
    yield Finding(
        f"The GPUs of {counted(len(found), 'worker')} were idle for {format_percent(share)} of the time in "
        f"which tasks ran there: meanwhile tasks of {names} worked on the host for "
        f"{format_duration(float(np.where(is_of_host, idle, 0.0).sum()))}.",
        cost,
        facts(
            ("time in which tasks ran on these workers", format_duration(running)),
            ("GPU busy meanwhile", format_percent(1 - share)),
            *_busy_by_prefix(evidence, idle, known),
            *_waits(evidence, found),
        ),
        (evidence.moment("the longest task beside an idle GPU begins", first),),
        evidence.tasks(rows),
        workers=tuple(one.worker for one in found),
        prefixes=tuple(prefixes),
        without=Without((Shorter(np.flatnonzero(saved), saved[saved > 0]),)),
    )


def _of_rows(evidence: Evidence, parts: Sequence[tuple[IdleGpu, Numbers]]) -> Numbers:
    """Values of computations of some workers, 0 for all others."""
    found = np.zeros(len(evidence.computations.spans))
    for one, values in parts:
        found[one.rows] = values
    return found


def _sums(evidence: Evidence, values: Numbers) -> dict[int, float]:
    """By prefix, most first."""
    prefixes, place = np.unique(evidence.computations.spans.prefix, return_inverse=True)
    sums = np.bincount(place, values, len(prefixes))
    return {int(prefixes[at]): float(sums[at]) for at in np.argsort(-sums, kind="stable")}


def _of_host(evidence: Evidence, idle: Numbers, known: Numbers) -> list[int]:
    """The prefixes that the GPU waited for: it was idle for most of their time, and that is much of all."""
    lasted, total = _sums(evidence, known), float(idle.sum())
    return [
        prefix
        for prefix, seconds in _sums(evidence, idle).items()
        if seconds > max(OF_HOST * lasted[prefix], NAMED_SHARE * total)
    ]


def _busy_by_prefix(evidence: Evidence, idle: Numbers, known: Numbers) -> Iterator[tuple[str, str]]:
    was_idle = _sums(evidence, idle)
    for prefix, seconds in list(_sums(evidence, known).items())[:LISTED]:
        if seconds > 0:
            share = 1 - was_idle[prefix] / seconds
            yield f"GPU busy while {evidence.prefix(prefix)} ran", format_percent(share)


def _waits(evidence: Evidence, found: Sequence[IdleGpu]) -> Iterator[tuple[str, str | None]]:
    """What threads of these workers waited for besides, while no task of theirs ran."""
    for kind, label in ((ThreadKind.DISK, "the disk"), (ThreadKind.TRANSFER, "data of other workers")):
        seconds = sum(evidence.own_seconds(one.worker, kind) for one in found)
        yield f"threads that waited for {label}", format_duration(seconds) if seconds >= 1 else None


KIND = FindingKind(
    title="GPUs that idle while the host prepares data",
    advice="Prepare the next data while the GPU computes: give workers more threads (`dask cuda worker "
    "--nthreads`) and let a resource (`--resources GPU=1`) keep one task at a time on the GPU, or prepare "
    "on other workers without a GPU. Read and decode on the GPU where libraries can (cuDF, KvikIO, "
    "nvImageCodec), in larger pieces, or store the data as it is needed.",
    documentation="https://docs.dask.org/en/stable/gpu.html",
    find=find,
    counts=FINISHED,
)
