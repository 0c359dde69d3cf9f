"""A client that waits for all tasks of a round before it submits the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.replay.scope import Section
from observatory.store.queries.windows.activity import submitted_code
from observatory.store.times import from_microseconds
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding
from observatory.why.findings.observed.late_submissions import LEAST_OF_ROUNDS, waits_for_rounds
from observatory.why.findings.texts import counted, facts
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.recorded.client_rounds import ClientRound
from observatory.why.what_if.without import Without
from observatory.wire.client_code.submitted_code import frames_of_code

ADVICE = (
    "Submit all rounds at once, or the next tasks as others end, with `as_completed`: the scheduler keeps "
    "what has no thread yet. Several `dask.compute` in a loop can be one, with all collections."
)
FETCHED_ADVICE = (
    f"Where a round does not need the results of the one before: {ADVICE[0].lower()}{ADVICE[1:]} Where it "
    f"does: make the parts of a round more equal, or more and smaller."
)
WITHOUT_LINE = (
    "The line that submits them is named here where the client's configuration has "
    "`distributed.diagnostics.computations.nframes: 1`."
)


def waited_rounds(evidence: Evidence) -> Iterator[Finding]:
    """One finding for a window in which threads were idle because of it."""
    times, waits = waits_for_rounds(evidence), evidence.waits
    idle = waits.during(ThreadKind.OTHERS, times)
    cost = evidence.cost(idle)
    if not len(times) or idle < LEAST_OF_ROUNDS * waits.active or not evidence.is_worth(cost):
        return
    rounds = evidence.simulation.client_rounds if evidence.simulation else ()
    usual = round(float(np.median([one.count for one in rounds])))
    code = _code(evidence, rounds[0])
    line = evidence.text(_line(code)) if code else ""
    longest = max(rounds, key=lambda one: one.stop - one.start)
    what = f"for all {usual:,} tasks of a round" if usual > 1 else "for each task"
    at_line = f" ({line})" if line else ""
    advice = FETCHED_ADVICE if _has_fetched(evidence, rounds) else ADVICE
    yield Finding(
        f"The client waited {what} before it submitted the next{at_line}, {counted(len(rounds), 'time')}: "
        f"for {format_duration(times.seconds)} {idle / times.seconds:.1f} of {waits.most_threads:.0f} "
        f"threads were idle, and no task could have had them.",
        cost,
        facts(
            ("rounds", f"{len(rounds) + 1:,}"),
            ("tasks of a round", f"{usual:,}"),
            ("share of the window", format_percent(times.seconds * 1e6 / (evidence.stop - evidence.start))),
            ("code that submitted them", line),
        ),
        (evidence.moment("the longest begins", longest.start / 1e6),),
        without=Without(rounds=True),
        advice=f"{advice} {WITHOUT_LINE}" if code == "" else advice,
    )


def _has_fetched(evidence: Evidence, rounds: Sequence[ClientRound]) -> bool:
    """Whether the client fetched results of most rounds, which the next one can be made of."""
    fetched = evidence.clients.times[ThreadKind.GATHERING]
    return bool(np.mean([fetched.clipped(one.start, one.next).seconds > 0 for one in rounds]) > 0.5)


def _code(evidence: Evidence, first: ClientRound) -> str | None:
    """The client's code that submitted the next round, as Dask reported it; None: it may not be shown."""
    if evidence.others or not evidence.shows(Section.CODE):
        return None
    start, stop = from_microseconds(first.next), from_microseconds(evidence.stop)
    return submitted_code(evidence.connection, evidence.scope.cluster.pk, start, stop)


def _line(code: str) -> str:
    """The innermost line of the client's code that has a file; "" for none."""
    frames = [frame for frame in frames_of_code(code) if frame.file and frame.calls]
    return f"{frames[-1].file}:{frames[-1].calls[-1]}" if frames else ""
