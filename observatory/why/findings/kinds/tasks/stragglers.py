"""Tasks that took much longer than others of their prefix, while others waited for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind, FoundTask
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers, Intervals
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.without import Shorter, Without

SKEWED = 3.0
"""times the median size of results, or of what tasks need, from which a partition is skewed"""
LEAST_WAITED = 0.02
"""times the time that tasks took longer by, for which others waited, from which that is told"""
MOST_WAITED = 0.2
"""of the time of tasks that compute, for which they used no CPU"""
LISTED = 10


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix with tasks that took much longer than the others."""
    prefixes = evidence.computations.spans.prefix
    for prefix in np.unique(prefixes[evidence.stragglers]).tolist():
        finding = _finding(evidence, prefix, np.flatnonzero(evidence.stragglers & (prefixes == prefix)))
        if finding is not None:
            yield finding


def _finding(evidence: Evidence, prefix: int, rows: Integers) -> Finding | None:
    found = evidence.computations
    usual = float(found.usual[rows[0]])
    times = found.spans.times.where(rows)
    waited = evidence.waits.waited_for(Intervals(times.start + round(usual * 1e6), times.stop))
    excess = found.durations[rows] - usual
    if not evidence.is_worth(evidence.cost(float((excess + waited).sum()))):
        return None
    order = rows[np.argsort(-(excess + waited), kind="stable")][:LISTED]
    tasks = evidence.sized_tasks(order)
    skew = _skew(evidence, prefix, order, [nbytes for _, nbytes in tasks])
    is_work = bool(skew) or _computed(evidence, rows, order)
    # what is in a large partition has to be computed in any case
    cost = evidence.cost(float((waited if is_work else excess + waited).sum()))
    if not evidence.is_worth(cost):
        return None
    name, longest = evidence.prefix(prefix), format_duration(float(found.durations[rows].max()))
    idle = format_duration(float(waited.sum()))
    is_alone = waited.sum() < LEAST_WAITED * excess.sum()
    for_it = "No thread was free beside it." if is_alone else f"Idle threads waited {idle} for it."
    which = f"{counted(len(rows), 'task')} of {name} took{'' if len(rows) == 1 else ' up to'}"
    what = f" {_named(tasks)} skewed: {skew}." if skew else ""
    if is_work and not skew:
        it, its = ("It", "its") if len(rows) == 1 else ("They", "their")
        what = f" {it} computed all the time: {its} work would be the same in more tasks."
    return Finding(
        f"{which} {longest}, {format_duration(usual)} is usual. {for_it}{what}",
        cost,
        facts(
            ("tasks of the prefix", f"{found.counts[prefix]:,}"),
            ("median duration", format_duration(usual)),
            ("longest", longest),
            ("they took longer by", format_duration(float(excess.sum()))),
            ("idle threads waited", None if is_alone else idle),
        ),
        tuple(evidence.moment(f"{task.key} begins", task.start) for task, _ in tasks[:1]),
        tuple(task for task, _ in tasks),
        tuple(np.unique(found.spans.worker[rows]).tolist()),
        (prefix,),
        SKEW_ADVICE if is_work else "",
        Without((Shorter(rows, excess), *_spread(evidence, prefix, float(excess.sum()) if is_work else 0.0))),
    )


def _computed(evidence: Evidence, rows: Integers, longest: Integers) -> bool:
    """Whether the tasks are known to have used the CPU for most of their time: they waited for nothing."""
    waiting, found = evidence.waiting_tasks, evidence.computations
    waited = float(waiting.of_rows()[rows].sum())
    return waiting.are_sampled(longest) and waited <= MOST_WAITED * float(found.durations[rows].sum())


def _spread(evidence: Evidence, prefix: int, seconds: float) -> tuple[Shorter, ...]:
    """What is in large partitions has to be computed in any case: each task of the prefix has its share."""
    found = evidence.computations
    rows = np.flatnonzero((found.spans.prefix == prefix) & found.finished)
    return (Shorter(rows, np.full(len(rows), -seconds / len(rows))),) if seconds else ()


def _named(tasks: Sequence[tuple[FoundTask, int]]) -> str:
    keys = [task.key for task, _ in tasks]
    return f"The partition of {keys[0]} is" if len(keys) == 1 else f"The partitions of {listed(keys)} are"


def _skew(evidence: Evidence, prefix: int, rows: Integers, sizes: Sequence[int]) -> str:
    """What shows that there is more in the partitions of these tasks than in others; empty: nothing."""
    usual = evidence.usual_size(prefix)
    if usual > 0 and float(np.median(sizes)) >= SKEWED * usual:
        return f"results of up to {format_bytes(max(sizes))} instead of {format_bytes(usual)}"
    needed = evidence.needed_by(prefix)
    taken = np.bincount(needed.needing, evidence.computations.spans.nbytes[needed.places], len(needed.counts))
    of_prefix = (evidence.computations.spans.prefix == prefix) & (needed.counts > 0)
    usual = float(np.median(taken[of_prefix])) if of_prefix.any() else 0.0
    if usual > 0 and float(np.median(taken[rows])) >= SKEWED * usual:
        large = f"up to {format_bytes(float(taken[rows].max()))} instead of {format_bytes(usual)}"
        return f"inputs of {large}"
    after_long = [bool(evidence.stragglers[needed.of(row)].any()) for row in rows.tolist()]
    return "the tasks before took long, too" if np.mean(after_long) > 0.5 else ""


SKEW_ADVICE = "Repartition the data so that partitions are of equal size, or choose another key to split by."
KIND = FindingKind(
    title="stragglers and skewed partitions",
    advice="Select the task to see where it ran and what its thread did. Split what is in these tasks, or "
    "begin with them.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
    counts=(ThreadKind.OTHERS, *FINISHED),
)
