"""Adaptive scaling that adds and removes workers again and again."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.formatting import format_duration
from observatory.store.queries.windows.findings import WorkerEnd
from observatory.why.findings.evidence import DIED, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import counted, facts
from observatory.why.thread_times.kinds import BUSY, KINDS

FEWEST_TURNS = 4
"""changes of the direction of scaling"""
SOON = 120.0
"""seconds between two turns that belong together, and the longest life of a worker that was short"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding where the target went up and down."""
    turns = _turns([(event.time, event.detail) for event in evidence.events("adaptive-target")])
    if len(turns) < FEWEST_TURNS:
        return
    short = [worker for worker in evidence.ends.values() if _was_short(worker)]
    idle = sum(_idle(evidence, worker.id) for worker in short)
    cost = evidence.cost(idle)
    if not evidence.is_worth(cost):
        return
    yield Finding(
        f"Adaptive scaling changed its direction {counted(len(turns), 'time')}: "
        f"{counted(len(short), 'worker')} lived "
        f"for less than {format_duration(SOON)}, and {'was' if len(short) == 1 else 'were'} idle for "
        f"{format_duration(idle)} of thread time.",
        cost,
        facts(
            ("changes of direction", f"{len(turns):,}"),
            ("workers that were removed again", f"{len(short):,}"),
        ),
        tuple(evidence.moment("scales the other way", time) for time in turns[:5]),
        workers=tuple(worker.id for worker in short),
    )


def _turns(targets: list[tuple[float, object]]) -> list[float]:
    """When the target began to rise or to fall soon after the opposite."""
    found: list[float] = []
    last_time, last_target, direction = 0.0, None, 0
    for time, detail in targets:
        target = detail.get("target") if isinstance(detail, dict) else None
        if not isinstance(target, int):
            continue
        if last_target is not None and target != last_target:
            other = 1 if target > last_target else -1
            if direction == -other and time - last_time <= SOON:
                found.append(time)
            direction, last_time = other, time
        last_target = target
    return found


def _was_short(worker: WorkerEnd) -> bool:
    return worker.ended is not None and worker.reason not in DIED and worker.ended - worker.started <= SOON


def _idle(evidence: Evidence, worker: int) -> float:
    known = evidence.time.workers.get(worker)
    return 0.0 if known is None else sum(known.seconds[kind] for kind in KINDS if kind not in BUSY)


KIND = FindingKind(
    title="adaptive scaling that flaps",
    advice="Let it wait longer before it removes workers: `cluster.adapt(wait_count=…, interval=…)`, set "
    "a higher "
    "`minimum`, and raise `distributed.adaptive.target-duration`.",
    documentation="https://docs.dask.org/en/stable/adaptive.html",
    find=find,
    counts=tuple(kind for kind in KINDS if kind not in BUSY),
)
