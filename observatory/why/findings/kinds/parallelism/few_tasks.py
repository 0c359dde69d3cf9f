"""Fewer tasks at once than there are threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.late_submissions import waits_for_client
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Steps
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Shorter, Without

MOST_SHARE = 0.75
"""of the threads, that were in use at once"""
USED = 0.95
"""share of the time in which as many threads or fewer were in use"""
LEAST_IDLE = 0.2
"""share of the time of threads that waited for other tasks"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding where threads waited for other tasks throughout."""
    waits = evidence.waits
    idle = waits.seconds[ThreadKind.OTHERS] - waits.during(ThreadKind.OTHERS, waits_for_client(evidence))
    used = _usually_used(evidence)
    threads = round(waits.threads)
    cost = evidence.cost(idle)
    if used > MOST_SHARE * threads or idle < LEAST_IDLE * waits.active or not evidence.is_worth(cost):
        return
    found = evidence.computations
    longest = np.argsort(-found.durations, kind="stable")[:5]
    yield Finding(
        f"At most {counted(used, 'thread')} of {threads:,} had a task at once: the other threads "
        f"were idle for "
        f"{format_duration(idle)}, because what was left depended on tasks that ran.",
        cost,
        facts(
            ("threads", f"{threads:,}"),
            ("in use at once", f"{used:,}"),
            ("threads that would have been enough", f"{used:,}"),
            ("tasks", f"{len(found.spans):,}"),
        ),
        (evidence.moment("the longest begins", float(found.spans.times.start[longest[0]]) / 1e6),)
        if len(longest)
        else (),
        evidence.tasks(longest),
        without=_divided(evidence),
    )


def _divided(evidence: Evidence) -> Without:
    """Without waiting for other tasks: what ran beside idle threads is divided by all of them."""
    waits = evidence.waits
    idle, used = waits.taken[ThreadKind.OTHERS], np.maximum(waits.in_use.values, 1e-9)
    share = Steps(idle.edges, idle.values / (idle.values + used))
    times = evidence.whole_times
    return Without((Shorter(np.arange(len(times)), share.integrals(times) / 1e6),))


def _usually_used(evidence: Evidence) -> int:
    """How many threads were in use at most, but for a twentieth of the time in which any was."""
    used = evidence.waits.in_use
    lengths, values = np.diff(used.edges), used.values
    is_used = values > 0
    if not is_used.any():
        return 0
    order = np.argsort(values[is_used], kind="stable")
    passed = np.cumsum(lengths[is_used][order])
    place = np.searchsorted(passed, USED * passed[-1])
    return round(float(values[is_used][order][min(int(place), len(order) - 1)]))


KIND = FindingKind(
    title="too few tasks for the threads",
    advice="Split the work into more and smaller partitions, so that there are at least two or "
    "three tasks for each "
    "thread, or take fewer workers.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
    counts=(ThreadKind.OTHERS,),
    explained_by=("stragglers", "piled-tasks"),
)
