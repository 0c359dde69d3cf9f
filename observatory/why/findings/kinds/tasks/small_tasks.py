"""Tasks so short that threads waited longer for the next one than they computed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import LEAST_OF_OVERHEAD, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.scheduler_pace import seconds_of_change
from observatory.why.findings.observed.workers.loops import scheduler_ticks
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Intervals, Steps, distinct_times, values_at
from observatory.why.thread_times.cores import waited_without_core
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Without

SMALL = 0.1
"""seconds: the median of a prefix of small tasks is at most this"""
FEWEST = 100
"""small tasks"""
LEAST_OVERHEAD = 0.25
"""of the time that they compute"""
SLOW_SCHEDULER = 0.02
"""seconds of a blocked scheduler for each small task, from which something else than their number blocks it.

Dask's takes about a millisecond, on a machine with too few cores up to ten.
"""
GAP = 500_000
"""microseconds without a small task, within the times of small tasks"""
LITTLE = 100_000
"""bytes of a transfer on average, up to which it takes its time whatever it moves"""
SENDING = (ThreadKind.SCHEDULER, ThreadKind.READY)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all prefixes of small tasks."""
    found = evidence.computations
    small = [id for id, count in found.counts.items() if count and found.median(id) <= SMALL]
    rows = np.flatnonzero(np.isin(found.spans.prefix, small) & found.finished)
    if len(rows) < FEWEST:
        return
    times = found.spans.times.where(rows)
    during = times.joined(GAP)
    blocked = _blocked(evidence, during)
    if blocked >= SLOW_SCHEDULER * len(rows) or (
        blocked and seconds_of_change(evidence.records.transitions.time)
    ):
        return
    longer = found.spans.times.where(np.flatnonzero(~np.isin(found.spans.prefix, small)))
    sending, for_others = _waited(evidence, during, longer)
    sending += _little_data(evidence, small)
    if evidence.without_core:
        sending = max(0.0, sending - waited_without_core(evidence.samples, evidence.time, during))
        for_others *= 1 - evidence.tasks_without_core
    overhead = sending + for_others
    computed = float(found.durations[rows].sum())
    cost = evidence.cost(overhead)
    is_much = overhead >= max(LEAST_OVERHEAD * computed, LEAST_OF_OVERHEAD * evidence.waits.active)
    if not is_much or not evidence.is_worth(cost):
        return
    median = float(np.median(found.durations[rows]))
    names = listed([evidence.prefix(id) for id in sorted(small, key=lambda id: -found.counts[id])])
    each = format_duration(overhead / len(rows))
    yield Finding(
        f"{counted(len(rows), 'task')} of {names} took {format_duration(median)} each (median). Threads "
        f"waited "
        f"{each} for each of them.",
        cost,
        facts(
            ("small tasks", f"{len(rows):,}"),
            ("median duration", format_duration(median)),
            ("computing", format_duration(computed)),
            ("waiting for the scheduler, the event loops and little data", format_duration(overhead)),
        ),
        (evidence.moment("they begin", float(times.start.min()) / 1e6),),
        evidence.tasks(rows[np.argsort(times.start, kind="stable")][:5]),
        prefixes=tuple(small),
        without=Without(overhead=True),
    )


def _blocked(evidence: Evidence, during: Intervals) -> float:
    """For how many seconds the event loop of the scheduler was blocked."""
    ticks = scheduler_ticks(evidence)
    samples = ticks.samples
    return ticks.only(during.include((samples.times.start + samples.times.stop) // 2)).blocked_seconds


def _waited(evidence: Evidence, during: Intervals, longer: Intervals) -> tuple[float, float]:
    """How long threads waited until small tasks, that run in `during` beside `longer` ones, began, and for
    their ends.

    While longer tasks run, others wait for them. The scheduler works for both: small tasks have the share of
    the threads that longer ones leave.
    """
    waits = evidence.waits
    functions = waits.all, waits.of_kinds(SENDING), waits.taken[ThreadKind.OTHERS]
    edges = distinct_times(waits.all.edges, during.start, during.stop, longer.start, longer.stop)
    if len(edges) < 2:
        return 0.0, 0.0
    threads, sending, others = values_at(functions, edges[:-1])
    threads = np.maximum(threads, 1)
    long = np.minimum(longer.counts(edges), threads)
    sending = sending * (1 - long / threads)
    others = np.where(long > 0, 0, others)
    is_in = during.covers(edges)
    return Steps(edges, sending * is_in).seconds, Steps(edges, others * is_in).seconds


def _little_data(evidence: Evidence, prefixes: list[int]) -> float:
    """How long threads waited for data of small tasks, which fewer and larger ones would not fetch."""
    transfers = sum(pair.count for pair in evidence.pairs)
    if sum(pair.nbytes for pair in evidence.pairs) > LITTLE * transfers:
        return 0.0
    kinds = evidence.time.prefixes
    return sum(kinds[id][ThreadKind.TRANSFER] for id in prefixes if id in kinds)


KIND = FindingKind(
    title="tasks that are too small",
    advice="Do more in each task: larger chunks or partitions, several items in one call, or functions "
    "that are fused "
    "into one. A task should take at least 100 ms.",
    documentation="https://docs.dask.org/en/stable/best-practices.html#avoid-very-large-graphs",
    find=find,
    counts=(*SENDING, ThreadKind.OTHERS, ThreadKind.TRANSFER),
)
