"""A scheduler that could not send tasks as fast as threads became free."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import LEAST_OF_OVERHEAD, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.scheduler_pace import seconds_of_change
from observatory.why.findings.observed.workers.loops import scheduler_ticks
from observatory.why.findings.texts import facts
from observatory.why.intervals import Intervals
from observatory.why.thread_times.kinds import ThreadKind

CPU = "observatory_scheduler_cpu_percent"
BUSY = 90.0
"""percent of one core"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for the times at which the scheduler was busy and tasks waited for it."""
    cpu, ticks = evidence.samples(CPU), scheduler_ticks(evidence)
    interval = ticks.samples
    of_cpu = cpu.times.where(cpu.value >= BUSY).union()
    parts = [of_cpu, ticks.blocked]
    busy = Intervals(
        np.concatenate([part.start for part in parts]), np.concatenate([part.stop for part in parts])
    ).union()
    each = seconds_of_change(evidence.records.transitions.time)
    # what keeps it for as long at each change of a task's state isn't the machine
    own_share = 1.0 if each else ticks.own_share()
    waited = _waited(evidence, of_cpu, ticks.blocked, own_share)
    waited += _not_received(evidence, ticks.blocked, ticks.all_blocked_seconds * own_share)
    cost = evidence.cost(waited)
    if not len(busy) or waited < LEAST_OF_OVERHEAD * evidence.waits.active or not evidence.is_worth(cost):
        return
    code = evidence.code.of_loops(0)
    slow = f" It took {format_duration(each)} for each change of a task's state." if each else ""
    by = f" Its event loop was seen most often in {code[0]}." if code else ""
    yield Finding(
        f"The scheduler was busy for {format_duration(busy.seconds)}, and "
        f"threads "
        f"waited {format_duration(waited)} for it.{slow}{by}",
        cost,
        facts(
            ("highest CPU use", f"{float(cpu.value.max()):.0f} %" if len(cpu.value) else None),
            (
                "its event loop was blocked for up to",
                format_duration(float(interval.value.max())) if len(interval.value) else None,
            ),
            ("for each change of a task's state", format_duration(each) if each else None),
            ("code of the event loop", ", ".join(code)),
        ),
        (evidence.moment("busy from here on", float(busy.start[0]) / 1e6),),
    )


def _waited(evidence: Evidence, busy: Intervals, blocked: Intervals, own_share: float) -> float:
    """How long threads waited while it used a core, or was blocked: `own_share` by something else than the
    machine."""
    found, blocked = 0.0, blocked.without(busy)
    for kind in (ThreadKind.SCHEDULER, ThreadKind.READY):
        found += evidence.waits.during(kind, busy)
        found += evidence.waits.during(kind, blocked) * own_share
    return found


def _not_received(evidence: Evidence, blocked: Intervals, seconds: float) -> float:
    """How long threads of a run had nothing to do while the scheduler couldn't receive tasks: for `seconds`
    at most."""
    if not evidence.scope.run:
        return 0.0
    return min(evidence.waits.during(ThreadKind.NOTHING, blocked), evidence.waits.most_threads * seconds)


KIND = FindingKind(
    title="a busy scheduler",
    advice="Send fewer and larger tasks and smaller graphs. Keep the scheduler's machine to itself, and "
    "don't run "
    "code on it (`run_on_scheduler`, plugins) that takes long.",
    documentation="https://distributed.dask.org/en/stable/efficiency.html",
    find=find,
    counts=(ThreadKind.SCHEDULER, ThreadKind.READY, ThreadKind.NOTHING),
    explained_by=("small-tasks", "large-graph"),
)
