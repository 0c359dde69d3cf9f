"""Workers, or all workers of a host, that are slower than others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from observatory.clusters.formatting import format_count, format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.workers.slow_workers import SlowWorker
from observatory.why.findings.texts import facts, listed
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

MOST_INTERVALS = 5


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each slow host, and one for all slow workers of other hosts."""
    hosts = [[slow] for slow in evidence.slow_workers if slow.host]
    single = [slow for slow in evidence.slow_workers if not slow.host]
    for some in (*hosts, *([single] if single else ())):
        finding = _finding(evidence, some)
        if evidence.is_worth(finding.cost):
            yield finding


def _finding(evidence: Evidence, some: Sequence[SlowWorker]) -> Finding:
    found = evidence.computations
    rows = np.concatenate([slow.rows for slow in some])
    usual = np.concatenate([slow.usual for slow in some])
    compared = len(rows)
    are_own = ~evidence.stragglers[rows]
    rows, usual = rows[are_own], usual[are_own]
    times = found.spans.times.where(rows)
    excess = found.durations[rows] - usual
    # of a task that is slower than usual, idle threads wait for the part that it is slower by
    late = Intervals(times.stop - np.maximum(0, np.round(excess * 1e6)).astype(np.int64), times.stop)
    waited = evidence.waits.waited_for(late)
    order = rows[np.argsort(-excess, kind="stable")][:10]
    workers = tuple(id for slow in some for id in slow.workers)
    names = [evidence.worker(id) for id in workers]
    return Finding(
        f"{_who(evidence, some[0].host, names)} tasks take {_times(some)} times as long as the same tasks "
        "elsewhere.",
        evidence.cost(float(np.maximum(0, excess + waited).sum())),
        facts(
            ("workers", listed(names)),
            *_intervals(evidence, some),
            ("tasks that were compared", f"{compared:,}"),
            ("they took longer by", format_duration(float(excess.sum()))),
            ("idle threads waited", format_duration(float(waited.sum()))),
        ),
        (evidence.moment("the first of these tasks begins", float(times.start.min()) / 1e6),),
        evidence.tasks(order),
        workers,
        without=Without((Shorter(rows, excess),)),
    )


def _who(evidence: Evidence, host: str, names: Sequence[str]) -> str:
    if host:
        return f"The {len(names)} workers of {evidence.host(host)} are slower than others: their"
    if len(names) == 1:
        return f"{names[0]} is slower than others: its"
    return f"{len(names)} workers are slower than others, {listed(names)}: their"


def _times(some: Sequence[SlowWorker]) -> str:
    ratios = [slow.ratio for slow in some]
    least, most = format_count(min(ratios)), format_count(max(ratios))
    return least if least == most else f"{least} to {most}"


def _intervals(evidence: Evidence, some: Sequence[SlowWorker]) -> Iterator[tuple[str, str]]:
    for slow in some[:MOST_INTERVALS]:
        of = f" of {evidence.worker(slow.workers[0])}" if len(some) > 1 else ""
        yield f"confidence interval (99 %){of}", " – ".join(f"{format_count(end)}×" for end in slow.interval)


KIND = FindingKind(
    title="workers or hosts that are slower than others",
    advice="Look at the CPU, the disk and the other processes of that machine: the tabs Workers and "
    "System. Its CPU "
    "may be limited or shared. Leave it out, or replace it.",
    documentation="https://distributed.dask.org/en/stable/diagnosing-performance.html",
    find=find,
    counts=(*FINISHED, ThreadKind.OTHERS),
)
