"""A scheduler that could not send tasks as fast as threads became free."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import LEAST_OF_OVERHEAD, Evidence, facts
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.samples import Samples, blocked_seconds
from observatory.why.findings.scheduler_pace import seconds_of_change
from observatory.why.intervals import Flags, Intervals
from observatory.why.thread_times.kinds import ThreadKind

CPU, INTERVAL = "observatory_scheduler_cpu_percent", "observatory_scheduler_event_loop_interval_seconds"
OF_WORKERS = "observatory_worker_event_loop_interval_seconds"
TIMES_THE_WORKERS = 2.0
"""between two ticks of the scheduler's event loop, times that of the median worker at the same time"""
BUSY = 90.0
"""percent of one core"""
BLOCKED = 0.05
"""mean seconds between two ticks of its event loop, usually 0.02: blocked for three fifths of the time"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for the times at which the scheduler was busy and tasks waited for it."""
    cpu, interval = evidence.samples(CPU), evidence.samples(INTERVAL, function="max")
    is_blocked = _is_blocked(interval, evidence.samples(OF_WORKERS))
    parts = [cpu.times.where(cpu.value >= BUSY), interval.times.where(is_blocked)]
    busy = Intervals(
        np.concatenate([part.start for part in parts]), np.concatenate([part.stop for part in parts])
    ).union()
    waited = evidence.waits.during(ThreadKind.SCHEDULER, busy) + evidence.waits.during(ThreadKind.READY, busy)
    waited += _not_received(evidence, interval, is_blocked)
    cost = evidence.cost(waited)
    if not len(busy) or waited < LEAST_OF_OVERHEAD * evidence.waits.active or not evidence.is_worth(cost):
        return
    code, each = evidence.loop_code(0), seconds_of_change(evidence.records.transitions.time)
    slow = f" It took {format_duration(each)} for each change of a task's state." if each else ""
    by = f" Its event loop was seen most often in {code[0]}." if code else ""
    yield Finding(
        f"The scheduler was busy for {format_duration(float((busy.stop - busy.start).sum()) / 1e6)}, and "
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


def _is_blocked(interval: Samples, of_workers: Samples) -> Flags:
    """Whether each sample is of a time in which the scheduler's event loop was blocked.

    Not where the workers' ticks came as late: then all processes wait for the machine.
    """
    middle = (interval.times.start + interval.times.stop) // 2
    usual = np.zeros(len(middle))
    for place, time in enumerate(middle.tolist()):
        is_then = (of_workers.times.start <= time) & (time < of_workers.times.stop)
        usual[place] = float(np.median(of_workers.value[is_then])) if is_then.any() else 0.0
    return np.asarray(interval.value >= np.maximum(BLOCKED, TIMES_THE_WORKERS * usual))


def _not_received(evidence: Evidence, interval: Samples, is_blocked: Flags) -> float:
    """How long threads of a run had nothing to do while the scheduler couldn't receive tasks."""
    if not evidence.scope.run:
        return 0.0
    times = interval.times.where(np.flatnonzero(is_blocked)).union()
    most = evidence.waits.most_threads * blocked_seconds(interval, is_blocked)
    return min(evidence.waits.during(ThreadKind.NOTHING, times), most)


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
