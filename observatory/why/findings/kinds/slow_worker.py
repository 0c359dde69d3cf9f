"""Workers, or all workers of a host, that are slower than others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_count, format_duration
from observatory.why.findings.evidence import Evidence, facts, listed
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.slow_workers import SlowWorker
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each slow worker or host."""
    for slow in evidence.slow_workers:
        finding = _finding(evidence, slow)
        if evidence.is_worth(finding.cost):
            yield finding


def _finding(evidence: Evidence, slow: SlowWorker) -> Finding:
    found = evidence.computations
    are_own = ~evidence.stragglers[slow.rows]
    rows = slow.rows[are_own]
    times = found.spans.times.where(rows)
    excess = found.durations[rows] - slow.usual[are_own]
    # of a task that is slower than usual, idle threads wait for the part that it is slower by
    late = Intervals(times.stop - np.maximum(0, np.round(excess * 1e6)).astype(np.int64), times.stop)
    waited = evidence.waits.waited_for(late)
    order = rows[np.argsort(-excess, kind="stable")][:10]
    if slow.host:
        who = f"The {len(slow.workers)} workers of {evidence.host(slow.host)} are slower than others: their"
    else:
        who = f"{evidence.worker(slow.workers[0])} is slower than others: its"
    return Finding(
        f"{who} tasks take {format_count(slow.ratio)} times as long as the same tasks elsewhere.",
        evidence.cost(float(np.maximum(0, excess + waited).sum())),
        facts(
            ("workers", listed([evidence.worker(id) for id in slow.workers])),
            ("confidence interval (99 %)", " – ".join(f"{format_count(end)}×" for end in slow.interval)),
            ("tasks that were compared", f"{len(slow.rows):,}"),
            ("they took longer by", format_duration(float(excess.sum()))),
            ("idle threads waited", format_duration(float(waited.sum()))),
        ),
        (evidence.moment("its first task begins", float(times.start.min()) / 1e6),),
        evidence.tasks(order),
        slow.workers,
        without=Without((Shorter(rows, excess),)),
    )


KIND = FindingKind(
    title="workers or hosts that are slower than others",
    advice="Look at the CPU, the disk and the other processes of that machine: the tabs Workers and "
    "System. Its CPU "
    "may be limited or shared. Leave it out, or replace it.",
    documentation="https://distributed.dask.org/en/stable/diagnosing-performance.html",
    find=find,
    counts=(*FINISHED, ThreadKind.OTHERS),
)
