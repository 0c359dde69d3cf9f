"""Attempts that failed, while the run went on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_duration
from observatory.replay.scope import Section
from observatory.store.queries.windows.findings import Failure
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.kinds.failures.failure import attempts_of
from observatory.why.findings.texts import counted, facts
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Shorter, Without


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix and exception of attempts that were repeated, or that nobody noticed."""
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
    title="failed attempts that were repeated or went unnoticed",
    advice="Find out why they failed: the page Errors has their tracebacks. Retries hide a cause that "
    "costs time.",
    documentation="https://docs.dask.org/en/stable/debugging.html",
    find=find,
    counts=(ThreadKind.FAILED, ThreadKind.OTHERS),
)
