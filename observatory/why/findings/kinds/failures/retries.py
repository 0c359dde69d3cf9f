"""Attempts that failed or were rescheduled, while the run went on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.replay.scope import Section
from observatory.store.queries.windows.findings import Failure
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.kinds.failures.failure import attempts_of
from observatory.why.findings.texts import counted, facts
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Shorter, Without

ADVICE_FOR_RESCHEDULED = (
    "What a call does before it raises `Reschedule` is lost, and Dask may send the task to the same worker "
    "again: find out first whether it can run here, or say where it can by `workers=` or `resources=`. "
    "What has to wait for something should wait for it, or be submitted once it is there."
)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix and exception of attempts that were repeated, or that nobody noticed."""
    yield from _failed(evidence)
    spans = evidence.computations.spans
    for prefix in np.unique(spans.prefix[spans.is_rescheduled]).tolist():
        finding = _rescheduled(evidence, prefix)
        if evidence.is_worth(finding.cost):
            yield finding


def _rescheduled(evidence: Evidence, prefix: int) -> Finding:
    found = evidence.computations
    rows = found.rescheduled(prefix)
    times, seconds = found.spans.times.where(rows), found.durations[rows]
    waited = evidence.waits.waited_for(times)
    _, calls = np.unique(found.spans.task[rows], return_counts=True)
    return Finding(
        f"{counted(len(rows), 'call')} of {evidence.prefix(prefix)} raised Reschedule, after "
        f"{format_duration(float(np.median(seconds)))} (median), and their tasks were sent again.",
        evidence.cost(float((seconds + waited).sum())),
        facts(
            ("these calls took", format_duration(float(seconds.sum()))),
            ("tasks that were sent again", f"{len(calls):,}"),
            ("most calls of one task", f"{calls.max():,}"),
            ("idle threads waited", format_duration(float(waited.sum())) if waited.any() else None),
        ),
        (evidence.moment("the first begins", float(times.start.min()) / 1e6),),
        evidence.unfinished_tasks(found.spans.where(rows[np.argsort(-seconds, kind="stable")][:10])),
        prefixes=(prefix,),
        advice=ADVICE_FOR_RESCHEDULED,
        without=Without((Shorter(rows, seconds),)),
    )


def _failed(evidence: Evidence) -> Iterator[Finding]:
    for failure in evidence.failures:
        is_retried = failure.outcome == "retried"
        if is_retried or evidence.has_finished:
            finding = _finding(evidence, failure, is_retried)
            if evidence.is_worth(finding.cost) or not is_retried:
                yield finding


def _finding(evidence: Evidence, failure: Failure, is_retried: bool) -> Finding:
    found = evidence.computations
    rows = attempts_of(evidence, failure)
    waited = evidence.waits.waited_for(found.spans.times.where(rows))
    name, exception = evidence.prefix(failure.prefix), evidence.exception(failure) or "an exception"
    if is_retried:
        sentence = f"{counted(failure.count, 'attempt')} of {name} failed with {exception} and were repeated."
    else:
        sentence = f"{counted(failure.count, 'task')} of {name} failed with {exception}, and the run went on."
    message = evidence.text(failure.message) if evidence.shows(Section.TRACEBACKS) else ""
    return Finding(
        sentence,
        evidence.cost(float((found.durations[rows] + waited).sum())),
        facts(
            ("failed attempts took", format_duration(float(found.durations[rows].sum()))),
            ("first task", evidence.text(failure.key)),
            ("message", message),
        ),
        (evidence.moment("first failure", failure.first.timestamp()),),
        evidence.tasks(rows[:10]),
        prefixes=(failure.prefix,),
        without=Without((Shorter(rows, found.durations[rows]),)),
    )


KIND = FindingKind(
    title="attempts that failed or were rescheduled, and were repeated or went unnoticed",
    advice="Find out why they failed: the page Errors has their tracebacks. Retries hide a cause that "
    "costs time.",
    documentation="https://docs.dask.org/en/stable/debugging.html",
    find=find,
    counts=(ThreadKind.FAILED, ThreadKind.OTHERS),
)
