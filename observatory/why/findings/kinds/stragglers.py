"""Tasks that took much longer than others of their prefix, while others waited for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence, counted, facts
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.intervals import Integers, Intervals

RATIO = 2.0
"""times the median of the prefix"""
LEAST_EXCESS = 1.0
"""seconds above the median"""
SKEWED = 3.0
"""times the median size of results, from which a partition is skewed"""
LISTED = 10


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix with tasks that took much longer than the others."""
    found = evidence.computations
    usual = np.nan_to_num(found.usual, nan=np.inf)
    on_slow = np.zeros(len(found.spans), np.bool_)
    for slow in evidence.slow_workers:
        on_slow |= np.isin(found.spans.worker, slow.workers)
    is_first_use = np.zeros(len(found.spans), np.bool_)
    for use in evidence.first_uses:
        is_first_use[use.rows] = True
    is_long = (
        found.finished
        & ~on_slow
        & ~is_first_use
        & (found.durations >= np.maximum(RATIO * usual, usual + LEAST_EXCESS))
        & (found.durations > np.nan_to_num(found.longest_usual, nan=np.inf))
    )
    for prefix in np.unique(found.spans.prefix[is_long]).tolist():
        rows = np.flatnonzero(is_long & (found.spans.prefix == prefix))
        finding = _finding(evidence, prefix, rows)
        if evidence.is_worth(finding.cost):
            yield finding


def _finding(evidence: Evidence, prefix: int, rows: Integers) -> Finding:
    found = evidence.computations
    usual = float(found.usual[rows[0]])
    times = found.spans.times.where(rows)
    excess = Intervals(times.start + round(usual * 1e6), times.stop)
    waited = evidence.waits.waited_for(excess)
    seconds = found.durations[rows] - usual + waited
    order = rows[np.argsort(-seconds, kind="stable")][:LISTED]
    tasks = evidence.sized_tasks(order)
    longest = float(found.durations[rows].max())
    sizes = sorted((nbytes for _, nbytes in tasks), reverse=True)
    usual_size = evidence.usual_size(prefix)
    is_skewed = usual_size > 0 and float(np.median(sizes)) >= SKEWED * usual_size if sizes else False
    name = evidence.prefix(prefix)
    text = format_duration(longest)
    count = counted(len(rows), "task")
    which = f"{count} of {name} took{'' if len(rows) == 1 else ' up to'}"
    idle = format_duration(float(waited.sum()))
    skew = ""
    if is_skewed:
        largest = f"up to {format_bytes(sizes[0])} instead of {format_bytes(usual_size)}"
        skew = f" Their results are large, too: {largest}."
    return Finding(
        f"{which} {text}, {format_duration(usual)} is usual. Idle threads waited {idle} for it.{skew}",
        evidence.cost(float(seconds.sum())),
        facts(
            ("tasks of the prefix", f"{found.counts[prefix]:,}"),
            ("median duration", format_duration(usual)),
            ("longest", text),
            ("idle threads waited", idle),
            ("median size of results", format_bytes(usual_size)),
            ("largest of these", format_bytes(sizes[0]) if sizes else None),
        ),
        tuple(evidence.moment(f"{task.key} begins", task.start) for task, _ in tasks[:1]),
        tuple(task for task, _ in tasks),
        tuple(np.unique(found.spans.worker[rows]).tolist()),
        (prefix,),
        SKEW_ADVICE if is_skewed else "",
    )


SKEW_ADVICE = "Repartition the data so that partitions are of equal size, or choose another key to split by."
KIND = FindingKind(
    title="stragglers and skewed partitions",
    advice="Select the task to see where it ran and what its thread did. Split what is in these tasks, or "
    "begin with them.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
)
