"""Tasks that ran and did not finish: they hung, or were cancelled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.tasks.nested_tasks import ADVICE as ADVICE_FOR_NESTED
from observatory.why.findings.observed.tasks.nested_tasks import wait_for_results
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers, Intervals, Numbers
from observatory.why.records import Spans
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.unfinished import Unfinished

MOST_WORKERS, MOST_TASKS = 5, 10
LAST = 1_000_000
"""microseconds before the end of a run, in which it withdraws what it doesn't need"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for those that hung or ran on, and one for those that were cancelled."""
    left = Unfinished(evidence.records.unfinished, evidence.records.withdrawn)
    is_withdrawn = left.withdrawn < evidence.stop
    yield from _found(evidence, left.where(is_withdrawn), "was cancelled", "were cancelled")
    yield from _found(evidence, left.where(~is_withdrawn), "did not finish", "did not finish")


def _found(evidence: Evidence, found: Unfinished, *verbs: str) -> Iterator[Finding]:
    if not len(found.withdrawn):
        return
    lost, kept = _lost(evidence, found), _kept(evidence, found)
    rows = np.flatnonzero(lost + kept)
    rows = rows[np.argsort(-(lost + kept)[rows], kind="stable")]
    found, lost, kept = found.where(rows), lost[rows], kept[rows]
    left = found.spans
    waited = evidence.waits.waited_for(Intervals.of(found.withdrawn - lost, found.withdrawn))
    seconds = (lost + kept) / 1e6
    cost = evidence.cost(float((seconds + waited).sum()))
    if not len(rows) or not evidence.is_worth(cost):
        return
    prefixes = list(dict.fromkeys(left.prefix.tolist()))
    longest = int(left.times.lengths.argmax())
    length = format_duration(float(left.times.lengths[longest]) / 1e6)
    usual = evidence.computations.median(int(left.prefix[longest]))
    stacks = evidence.code.task_stacks(prefixes, int(left.times.start.min()))
    code = evidence.code.of_stacks(stacks)
    yield Finding(
        f"{counted(len(rows), 'task')} of {listed([evidence.prefix(id) for id in prefixes])} "
        f"{verbs[len(rows) > 1]}: {'it ran' if len(rows) == 1 else 'the longest ran'} for {length}"
        f"{f', where others took {format_duration(usual)} (median)' if usual else ''}."
        f"{_kept_text(int(kept.sum()), len(rows))}"
        f"{f' {_subject(len(rows))} seen in {code[0]}.' if code else ''}",
        cost,
        facts(
            *((evidence.worker(id), _text(left, id)) for id in _workers(left)[:MOST_WORKERS]),
            ("threads waited for them", format_duration(float(waited.sum())) if waited.any() else None),
            (
                "threads kept after the cancellation",
                format_duration(kept.sum() / 1e6) if kept.any() else None,
            ),
            ("code in which they were seen", ", ".join(code)),
        ),
        (evidence.moment("the longest begins", float(left.times.start[longest]) / 1e6),),
        evidence.unfinished_tasks(left.where(np.arange(min(len(rows), MOST_TASKS)))),
        tuple(_workers(left)),
        tuple(prefixes),
        advice=ADVICE_FOR_NESTED if wait_for_results(stacks) else "",
    )


def _kept(evidence: Evidence, left: Unfinished) -> Integers:
    """Microseconds for which each kept its thread after it was cancelled, while there was something to do."""
    busy = evidence.unfinished
    after = zip(left.withdrawn.tolist(), left.spans.times.stop.tolist(), strict=True)
    lengths = [busy.clipped(start, max(start, stop)).lengths.sum() for start, stop in after]
    return np.array(lengths, np.int64)


def _kept_text(kept: int, count: int) -> str:
    if not kept:
        return ""
    whose = "It kept its thread" if count == 1 else "They kept their threads"
    return f" {whose} for {format_duration(kept / 1e6)} after that: a function that runs can't be ended."


def _lost(evidence: Evidence, found_tasks: Unfinished) -> Integers:
    """Microseconds that each took too long: all, where it can't finish any more.

    What a run withdraws as it finishes was not needed, and what ran when it was stopped from outside may have
    finished: that took too long if it took longer than is usual.
    """
    left, withdrawn = found_tasks.spans, found_tasks.withdrawn
    length = np.maximum(withdrawn - left.times.start, 0)
    found, prefixes = evidence.computations, left.prefix.tolist()
    usual = np.array([found.median(id) for id in prefixes]) * 1e6
    longest = np.array([found.longest_of(id) for id in prefixes]) * 1e6
    is_before_the_end = withdrawn < evidence.stop - LAST
    if evidence.has_finished:
        counts_whole = is_before_the_end
    elif evidence.stopped is not None:
        counts_whole = is_before_the_end | (longest == 0)
    else:
        counts_whole = evidence.is_over | (withdrawn < evidence.stop)
    beyond = np.where((longest > 0) & (length > longest), length - usual, 0)
    return np.where(counts_whole, length, beyond).astype(np.int64)


def _subject(count: int) -> str:
    return "It was" if count == 1 else "They were"


def _workers(left: Spans) -> list[int]:
    return list(dict.fromkeys(left.worker.tolist()))


def _text(left: Spans, worker: int) -> str:
    lengths: Numbers = left.times.lengths[left.worker == worker] / 1e6
    longest = format_duration(float(lengths.max()))
    return longest if len(lengths) == 1 else f"{len(lengths):,} tasks, the longest {longest}"


KIND = FindingKind(
    title="tasks that did not finish",
    advice="Look at what they did then: their profile, and the logs of their worker. Give what waits for "
    "something outside of Dask, or for a lock, a time limit of its own, so that it can be repeated. A task "
    "that is cancelled keeps its thread until it returns.",
    documentation="https://docs.dask.org/en/stable/how-to/debug.html",
    find=find,
    counts=(ThreadKind.UNFINISHED, ThreadKind.OTHERS),
)
