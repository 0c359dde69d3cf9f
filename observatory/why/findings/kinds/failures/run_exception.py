"""What the code of a run raised itself: no task had failed with it."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.replay.scope import Section
from observatory.runs.errors.run_exceptions import described, exception_of, fields_of, is_same, place_in
from observatory.store.queries.windows.errors.run_exceptions import RunException
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import facts

GIVING_UP = frozenset({"TimeoutError", "CancelledError", "KeyboardInterrupt"})
"""exceptions of code that waits no longer, or that somebody stopped"""
AT_THE_END = 1_000_000
"""microseconds before the end of a window, in which its tasks are withdrawn"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding where the code raised something else than what tasks failed with."""
    raised = _raised(evidence)
    if raised is None or _is_of_tasks(evidence, raised) or _gave_up(evidence, raised):
        return
    if not evidence.shows(Section.TRACEBACKS):
        yield Finding("The code of the run raised an exception.", Cost())
        return
    fields = fields_of(raised, evidence.text)
    yield Finding(
        f"The code of the run raised {described(fields)}.",
        Cost(),
        facts(("exception", fields["type"]), ("message", fields["message"]), ("line", place_in(fields))),
        (evidence.moment("it was raised", raised.time.timestamp()),),
    )


def _gave_up(evidence: Evidence, raised: RunException) -> bool:
    """Whether the code, or who ran it, waited no longer for tasks: what these wait for is the cause."""
    if raised.exception_type not in GIVING_UP or evidence.start >= evidence.stop:
        return False
    unfinished = evidence.unfinished
    return len(unfinished) > 0 and int(unfinished.stop[-1]) >= evidence.stop - AT_THE_END


def _raised(evidence: Evidence) -> RunException | None:
    """What ended the code of the run that the window is of, if that was in the window."""
    raised = exception_of(evidence.connection, evidence.run) if evidence.run else None
    return raised if raised is not None and evidence.has_end(raised.time.timestamp()) else None


def _is_of_tasks(evidence: Evidence, raised: RunException) -> bool:
    return any(
        is_same(one.exception_type, one.message, raised.exception_type, raised.message)
        for one in evidence.failures
    )


KIND = FindingKind(
    title="exceptions of the run's own code",
    advice="The card of the run has the traceback, in the process of the client.",
    documentation="https://docs.python.org/3/tutorial/errors.html",
    find=find,
    is_failure=True,
)
