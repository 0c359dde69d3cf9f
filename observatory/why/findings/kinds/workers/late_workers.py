"""Workers that came late, or left in order, while tasks waited for threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.store.queries.windows.findings import WorkerEnd
from observatory.why.findings.evidence import DIED, Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers, Intervals, Numbers, Steps, added_at, distinct_times
from observatory.why.records import Worker
from observatory.why.what_if.simulation.workers import AbsenceKind
from observatory.why.what_if.without import Without

LEAST_STAY, LEAST_STAY_SHARE = 5_000_000, 0.05
"""microseconds, or share of the window, for which the most threads were there: not as of a replacement"""
LEAST_LEFT = 0.2
"""share of the time of threads in which there was something to do, that those who left on purpose cost"""
AT_ONCE = 5.0
"""seconds: a worker that left so soon after it had joined was closed before it was there"""
MOST_PREFIXES, MOST_ARRIVALS = 3, 8
Life = tuple[int, int]
"""start and stop, in microseconds"""


@dataclass(frozen=True, slots=True)
class Missing:
    """Threads that the window had at another time, at most as many as tasks waited for any."""

    late: Steps
    """those whose workers came later"""
    left: Steps
    """with the edges of `late`"""

    @property
    def all(self) -> Steps:
        return Steps(self.late.edges, self.late.values + self.left.values)


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers that were missing."""
    workers = evidence.records.workers
    if not workers or not evidence.has_agent:
        return
    lives = [_life(evidence, one) for one in workers]
    added = tuple(one.threads for one in evidence.arrived_after)
    threads = _most_threads(evidence, lives, sum(added))
    missing = _missing(evidence, lives, threads, sum(added))
    seconds = missing.all.seconds
    cost = Cost(seconds, seconds / threads)
    if not evidence.is_worth(cost):
        return
    is_late = missing.late.seconds >= missing.left.seconds
    if not is_late and seconds < LEAST_LEFT * evidence.waits.active:
        return
    who, what, when, advice = _arrivals(evidence) if is_late else _departures(evidence)
    names = _waited(evidence, missing)
    waited = f"Tasks{f' of {listed(names)}' if names else ''} waited for them"
    work = f"threads that weren't there could have computed for {format_duration(seconds)}"
    yield Finding(
        f"{what} {waited}: {work}.",
        cost,
        facts(
            ("threads at most", f"{threads:,}"),
            ("workers wanted by adaptive scaling", _wanted(evidence)),
            *when,
        ),
        tuple(
            evidence.moment(f"{evidence.worker(one.id)} {'joins' if is_late else 'left'}", time)
            for one in who[:5]
            if (time := one.started if is_late else one.ended) is not None
        ),
        workers=tuple(one.id for one in who),
        advice=advice,
        without=Without(
            late=True, added=added, absences=frozenset((AbsenceKind.LEFT, one.id) for one in workers)
        ),
    )


def _life(evidence: Evidence, worker: Worker) -> Life:
    """When a worker was there, or should have been: after a death, or until the next one of its name.

    What deaths cost is a finding of its own, and a restart is no departure.
    """
    end = evidence.ends.get(worker.id)
    if not worker.has_ended or end is None or end.ended is None:
        return worker.start, worker.stop
    if later := _replacements(evidence, end):
        return worker.start, max(worker.stop, round(min(one.started for one in later) * 1e6))
    return worker.start, evidence.stop if end.reason in DIED else worker.stop


def _replacements(evidence: Evidence, worker: WorkerEnd) -> list[WorkerEnd]:
    """Those of its name or address that came when it had ended."""
    return [
        one
        for one in evidence.ends.values()
        if one.id != worker.id
        and worker.ended is not None
        and one.started >= worker.ended
        and (one.name == worker.name or one.address == worker.address)
    ]


def _there(evidence: Evidence, lives: Sequence[Life], edges: Integers) -> Numbers:
    """Number of threads of all workers, from each edge to the next."""
    return added_at(
        edges,
        [
            Steps(np.array(life, np.int64), np.array([float(worker.threads)]))
            for life, worker in zip(lives, evidence.records.workers, strict=True)
            if life[0] < life[1]
        ],
    ).values


def _most_threads(evidence: Evidence, lives: Sequence[Life], added: int) -> int:
    """How many there were at most; where some left, for a while: a replacement comes before that.

    With the `added` ones that came after the end, beside those that were there then.
    """
    edges = np.unique(
        np.array([evidence.start, evidence.stop, *(at for life in lives for at in life)], np.int64)
    )
    there = _there(evidence, lives, edges)
    least = min(LEAST_STAY, LEAST_STAY_SHARE * (evidence.stop - evidence.start))
    if all(life[1] >= evidence.stop for life in lives):
        least = 1
    lengths = np.diff(edges)
    enough: list[float] = [
        count for count in np.unique(there).tolist() if lengths[there >= count].sum() >= least
    ]
    at_the_end = float(there[-1]) + added if added else 0.0
    return max(1, round(max(*enough, at_the_end, 1.0)))


def _missing(evidence: Evidence, lives: Sequence[Life], threads: int, added: int) -> Missing:
    waiting = evidence.in_line.clipped(evidence.start, evidence.stop)
    edges = distinct_times(
        waiting.start, waiting.stop, np.array([at for life in lives for at in life], np.int64)
    )
    lacking = np.maximum(0, threads - _there(evidence, lives, edges))
    missing = np.minimum(lacking, waiting.counts(edges))
    before = _there(evidence, [(evidence.start, life[0]) for life in lives], edges)
    late = np.minimum(missing, before + added)
    return Missing(Steps(edges, late), Steps(edges, missing - late))


def _waited(evidence: Evidence, missing: Missing) -> list[str]:
    """The prefixes whose tasks waited longest meanwhile."""
    lacking = Steps(missing.all.edges, (missing.all.values > 0).astype(np.float64))
    prefix = np.concatenate([evidence.sent.prefix, evidence.at_scheduler.prefix])
    seconds = lacking.integrals(evidence.in_line)
    ids, place = np.unique(prefix, return_inverse=True)
    sums = np.bincount(place, seconds, len(ids))
    order = np.argsort(-sums, kind="stable")[:MOST_PREFIXES]
    return [evidence.prefix(int(ids[at])) for at in order if sums[at] > 0]


Story = tuple[list[WorkerEnd], str, list[tuple[str, str]], str]
"""the workers, a sentence about them, facts, and advice if it is not the kind's"""


def _arrivals(evidence: Evidence) -> Story:
    """How long it took until each worker was there, since there was something to do."""
    since = _begun(evidence)
    order = sorted(evidence.ends.values(), key=lambda one: one.started)
    later = [one.started for one in evidence.arrived_after]
    late = [one for one in order if one.started > since] or ([] if later else order[-1:])
    after = [format_duration(max(0.0, one - since)) for one in (*(one.started for one in order), *later)]
    there, count = len(order) - len(late), len(after)
    if there:
        verb = "was" if there == 1 else "were"
        first = f"{there:,} of {counted(count, 'worker')} {verb} there when tasks came"
    else:
        first = f"There was no worker when tasks came, and the first one after {after[0]}"
    last = f"the last of {count:,} after {after[-1]}" if count > 1 else ""
    done = f"{len(later):,} of them when the work was done" if later else ""
    numbers = np.unique(np.linspace(there, count - 1, MOST_ARRIVALS).astype(int)).tolist()
    times = [(f"worker {number + 1:,} there after", after[number]) for number in numbers]
    return late, f"{', '.join(part for part in (first, last, done) if part)}.", times, ""


def _departures(evidence: Evidence) -> Story:
    """Those that left for good, and did not die."""
    gone = [one for one in evidence.ends.values() if one.ended is not None and one.reason not in DIED]
    left = sorted((one for one in gone if _is_missed(evidence, one)), key=lambda one: one.ended or 0)
    given_up = {one.id: after for one in left if (after := _given_up_after(evidence, one)) is not None}
    names = f": {listed([evidence.worker(one.id) for one in left])}" if left else ""
    what = f"{counted(len(left), 'worker')} left in order before the work was done{names}."
    if given_up:
        came = (
            "came in place of a dead one and was"
            if len(given_up) == 1
            else "came in place of dead ones and were"
        )
        what += f" {len(given_up):,} of them {came} closed at once."
    return (
        left,
        what,
        [_departure(evidence, one, given_up.get(one.id)) for one in left[:MOST_ARRIVALS]],
        (GIVEN_UP_ADVICE if len(given_up) > len(left) / 2 else LEFT_ADVICE),
    )


def _is_missed(evidence: Evidence, worker: WorkerEnd) -> bool:
    assert worker.ended is not None
    return round(worker.ended * 1e6) < evidence.stop and not _replacements(evidence, worker)


def _departure(evidence: Evidence, worker: WorkerEnd, given_up_after: float | None) -> tuple[str, str]:
    text = f"after {format_duration(max(0.0, (worker.ended or 0) - _begun(evidence)))}"
    if given_up_after is not None:
        text += f", had joined {format_duration(given_up_after)} after the death of the one before"
    return evidence.worker(worker.id), text


def _given_up_after(evidence: Evidence, worker: WorkerEnd) -> float | None:
    """Seconds from the death of the worker that this one replaced until it joined, if it left at once.

    A cluster object closes a worker that is not back in time (distributed's `SpecCluster`): also where its
    process has begun meanwhile, and joins before it hears of that.
    """
    if worker.ended is None or worker.ended - worker.started > AT_ONCE:
        return None
    died = [
        one.ended
        for one in evidence.ends.values()
        if one.reason in DIED and one.ended is not None and worker in _replacements(evidence, one)
    ]
    return worker.started - max(died) if died else None


def _begun(evidence: Evidence) -> float:
    """Since when there has been something to do, in seconds."""
    times: Intervals = evidence.unfinished
    return (int(times.start[0]) if len(times) else evidence.start) / 1e6


def _wanted(evidence: Evidence) -> str | None:
    targets = [
        target
        for event in evidence.events("adaptive-target")
        if isinstance(event.detail, dict) and isinstance(target := event.detail.get("target"), int)
    ]
    return f"{max(targets):,} at most" if targets else None


LEFT_ADVICE = (
    "Keep workers while tasks wait: a higher `minimum` or `wait_count` of `cluster.adapt`, a longer "
    "`--lifetime`, and `client.retire_workers` once the work is done."
)
GIVEN_UP_ADVICE = (
    "`LocalCluster` and other cluster objects close a worker for good where no other one has come "
    "`distributed.deploy.lost-worker-timeout` (15 s) after it died. Raise it in Dask's configuration where "
    "processes take long to start, and see what the first ones died of."
)
KIND = FindingKind(
    title="workers that came late or left",
    advice="Ask for workers before they are needed, and keep a `minimum` of them: "
    "`cluster.adapt(minimum=…)`, `cluster.scale(…)` while data is prepared. Smaller and shorter jobs wait "
    "less in the queue of a batch system, and workers start sooner from an image that is there with what "
    "they import.",
    documentation="https://docs.dask.org/en/stable/adaptive.html",
    find=find,
    explained_by=("adaptive",),
)
