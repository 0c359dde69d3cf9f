"""Tasks that failed for good, and so the run."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.replay.scope import Section
from observatory.store.queries.windows.findings import Failure
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts
from observatory.why.intervals import Integers
from observatory.why.thread_times.kinds import ThreadKind

KILLED = "killed"
DEATHS_ADVICE = (
    "Find out why these workers died, from their logs and their memory just before. Most often the task "
    "needs more memory than a worker has: make its partitions smaller, or the workers larger."
)

COUNTED_ADVICE = (
    "The client that waits for them raises their exception. Install the agent, which records it with the "
    "traceback."
)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for each prefix and exception type of tasks that failed for good."""
    if evidence.has_finished:
        return
    for failure in evidence.failures:
        if failure.outcome != "retried":
            yield _finding(evidence, failure)
    if not evidence.failures:
        yield from _counted_only(evidence)


def _counted_only(evidence: Evidence) -> Iterator[Finding]:
    """One finding where stock endpoints told that tasks failed, but not which."""
    events = evidence.events("tasks-erred")
    count = sum(int(event.detail.get("count") or 0) for event in events if isinstance(event.detail, dict))
    if count > 0:
        yield Finding(
            f"{counted(count, 'task')} failed. Without the agent it isn't known which, and why.",
            Cost(),
            facts(("tasks that failed", f"{count:,}")),
            (evidence.moment("first failure", events[0].time),),
            advice=COUNTED_ADVICE,
        )


def _finding(evidence: Evidence, failure: Failure) -> Finding:
    prefix, key = evidence.prefix(failure.prefix), evidence.text(failure.key)
    exception = evidence.exception(failure)
    message = evidence.text(failure.message) if evidence.shows(Section.TRACEBACKS) else ""
    attempts = attempts_of(evidence, failure)
    seconds = float(evidence.computations.durations[attempts].sum())
    if failure.outcome == KILLED:
        died = len(failure.workers)
        sentence = (
            f"{counted(failure.count, 'task')} of {prefix} failed with KilledWorker: {key} was on "
            f"{counted(died, 'worker')} that died, one after the other."
        )
        advice = DEATHS_ADVICE
    else:
        what = f"{exception or 'an exception'}{f': {message}' if message else ''}"
        sentence = f"{counted(failure.count, 'task')} of {prefix} failed with {what}."
        advice = ""
    return Finding(
        sentence,
        evidence.cost(seconds),
        facts(
            ("exception", exception or None),
            ("first task", key),
            ("tasks that failed because of it", f"{failure.dependents:,}" if failure.dependents else None),
            ("message", message),
            ("workers", ", ".join(evidence.text(address) for address in failure.workers) or None),
        ),
        (evidence.moment("first failure", failure.first.timestamp()),),
        evidence.tasks(attempts[:10]),
        () if failure.worker is None else (failure.worker,),
        (failure.prefix,),
        advice,
    )


def attempts_of(evidence: Evidence, failure: Failure) -> Integers:
    """The computations that a failure is about. Where tasks of a prefix failed for good, and some attempts
    were repeated, each of the two has its own."""
    outcomes = {one.outcome == "retried" for one in evidence.failures if one.prefix == failure.prefix}
    if len(outcomes) < 2:
        return evidence.computations.failed(failure.prefix)
    return evidence.computations.failed_before(failure.prefix, failure.outcome == "retried")


KIND = FindingKind(
    title="failed tasks",
    advice="The tab Errors of the run has the traceback. `Client.recreate_error_locally` runs the task again "
    "where it can be debugged.",
    documentation="https://docs.dask.org/en/stable/debugging.html",
    find=find,
    counts=(ThreadKind.FAILED,),
    is_failure=True,
)
