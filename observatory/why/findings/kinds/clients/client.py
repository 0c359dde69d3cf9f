"""A client that takes the time of a run: it fetches results, sends graphs or runs its own code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.observed.late_submissions import waits_for_own_code
from observatory.why.findings.texts import facts
from observatory.why.findings.waited_rounds import waited_rounds
from observatory.why.intervals import Intervals, distinct_times
from observatory.why.thread_times.kinds import OF_CLIENTS, TEXTS, ThreadKind
from observatory.why.what_if.without import Without

LEAST_SHARE = 0.2
"""of the run, in which the cluster had no task"""
LEAST_SECONDS = 2.0
WAITING = "client-waiting"
"""beside kinds of thread time, of which it is `client: own code`"""
WHAT: dict[str, str] = {
    ThreadKind.GATHERING: "the client fetched results",
    ThreadKind.SENDING: "the client sent graphs",
    ThreadKind.OPTIMIZING: "the client optimized graphs",
    WAITING: "the client waited in a call of Dask, though for no task",
    ThreadKind.CLIENT_CODE: "the client's own code ran",
    ThreadKind.NOTHING: "no client had submitted any",
}
ADVICE: dict[str, str] = {
    ThreadKind.GATHERING: "Fetch less: reduce on the cluster, write large results from the tasks, and pass "
    "futures on instead of their results.",
    ThreadKind.SENDING: "Send smaller graphs: `client.scatter` large objects, read data in tasks, and make "
    "larger partitions.",
    WAITING: "See what it waited for: workers, a lock, an event, a queue or a variable that another client "
    "sets, functions that `client.run` runs outside of tasks, or what else a coroutine did in `client.sync`.",
    ThreadKind.OPTIMIZING: "Make larger partitions, persist what is used again, and compute several results "
    "by one `dask.compute`.",
}
TITLES: dict[str, str] = {kind: text.title for kind, text in TEXTS.items()} | {
    WAITING: "client: waiting in a call of Dask"
}
ADVICE_FOR_ACTORS = (
    "An actor is on one worker, and runs one method at a time: call methods of several actors before you "
    "wait for the first answer. What needs no state of an actor is faster as tasks."
)
CPU = "observatory_worker_cpu_percent"
BUSY = 50.0
"""percent of a core that a worker uses while it has no task: actors, and what runs outside of tasks"""


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from _in_actors(evidence)
    yield from _around_rounds(evidence)
    yield from _beside_tasks(evidence)


def _around_rounds(evidence: Evidence) -> Iterator[Finding]:
    """What rounds that are submitted without waiting would save of both: the one that costs threads more."""
    found = [*_between_tasks(evidence), *waited_rounds(evidence)]
    yield from sorted(found, key=lambda one: -one.cost.thread_seconds)[:1]


def _beside_tasks(evidence: Evidence) -> Iterator[Finding]:
    """One finding for runs in which few tasks ran, as its client was busy before it submitted more."""
    times, waits = waits_for_own_code(evidence), evidence.waits
    idle = waits.during(ThreadKind.OTHERS, times)
    cost = evidence.cost(idle)
    if idle < LEAST_SHARE * waits.active or not evidence.is_worth(cost):
        return
    seconds = times.seconds
    yield Finding(
        f"For {format_duration(seconds)} the client's own code ran before it submitted more: "
        f"{idle / seconds:.1f} of {waits.most_threads:.0f} threads were idle meanwhile, and no task waited.",
        cost,
        facts(
            ("share of the run", format_percent(seconds * 1e6 / (evidence.stop - evidence.start))),
            ("times of its own code", f"{len(times):,}"),
        ),
        (evidence.moment("it begins", float(times.start[0]) / 1e6),),
        without=Without(own_code=True),
        advice="Submit more at once, so that there are tasks while the client looks at results, or do this "
        "work in tasks.",
    )


def _in_actors(evidence: Evidence) -> Iterator[Finding]:
    """One finding for runs whose client waited for actors: while no task ran, as if it needn't have."""
    gaps, window = _gaps(evidence)
    gaps = gaps.without(gaps.without(evidence.clients.actors))
    seconds = gaps.seconds
    if seconds < max(LEAST_SECONDS, LEAST_SHARE * window):
        return
    longest = int(np.argmax(gaps.stop - gaps.start))
    waited = evidence.clients.actors.clipped(evidence.start, evidence.stop).seconds
    yield Finding(
        f"For {format_duration(seconds)} of {format_duration(window)} the cluster had no task, and the "
        f"client waited for methods of actors, which are no tasks.",
        Cost(evidence.waits.during(ThreadKind.NOTHING, gaps), seconds),
        facts(
            ("share of the run", format_percent(seconds / window)),
            ("waited for them in all, also while tasks ran", format_duration(waited)),
            ("the worker that computed most", f"{_busiest(evidence, gaps):.0f} % of a core"),
        ),
        (evidence.moment("the longest begins", float(gaps.start[longest]) / 1e6),),
        advice=ADVICE_FOR_ACTORS,
        without=_without(evidence, Without(actors=True)),
    )


def _gaps(evidence: Evidence) -> tuple[Intervals, float]:
    """When a run, or all runs of a window, had no task on the cluster; and how long they took, in seconds."""
    runs = evidence.whole if evidence.scope.run else _runs(evidence)
    return runs.without(evidence.unfinished).without(evidence.restarts), runs.seconds


def _between_tasks(evidence: Evidence) -> Iterator[Finding]:
    """One finding for a run, or all runs of a window, with no task on the cluster for much of the time."""
    gaps, window = _gaps(evidence)
    gaps = gaps.without(evidence.clients.actors)
    seconds = gaps.seconds
    cost = Cost(evidence.waits.during(ThreadKind.NOTHING, gaps), seconds)
    if not len(gaps) or seconds < max(LEAST_SECONDS, LEAST_SHARE * window):
        return
    if not evidence.is_worth(cost):
        return
    busiest = _busiest(evidence, gaps)
    if busiest >= BUSY:
        yield Finding(
            f"For {format_duration(seconds)} of {format_duration(window)} the cluster had no task, and a "
            f"worker computed nevertheless ({busiest:.0f} % of a core): methods of actors and functions "
            f"outside of tasks are no tasks.",
            Cost(),
            advice="The tab Profile has what workers ran. An actor is on one worker: make several of them.",
        )
        return
    by_kind = _by_kind(evidence, gaps)
    main = max(by_kind, key=lambda kind: by_kind[kind])
    longest = int(np.argmax(gaps.stop - gaps.start))
    yield Finding(
        f"For {format_duration(seconds)} of {format_duration(window)} the cluster had no task: {WHAT[main]} "
        f"for {format_duration(by_kind[main])}.",
        cost,
        facts(
            ("share of the run", format_percent(seconds / window)),
            *((TITLES[kind], format_duration(by_kind[kind])) for kind in by_kind if by_kind[kind]),
            ("times without a task", f"{len(gaps):,}"),
            ("longest of them", format_duration((gaps.stop - gaps.start)[longest] / 1e6)),
        ),
        (evidence.moment("the longest begins", float(gaps.start[longest]) / 1e6),),
        advice=ADVICE.get(main, ""),
        without=_without(evidence, Without(client=True)),
    )


def _without(evidence: Evidence, without: Without) -> Without | None:
    """What is simulated of a run: a simulation without clients has no time between two runs either."""
    return without if evidence.scope.run and not len(evidence.restarts) else None


def _runs(evidence: Evidence) -> Intervals:
    """When clients had a run open that was opened from code: what they did at other times isn't known."""
    return evidence.clients.runs.clipped(evidence.start, evidence.stop).union()


def _busiest(evidence: Evidence, gaps: Intervals) -> float:
    """The CPU that the busiest worker used in the gaps on average, in percent of a core."""
    samples = evidence.samples(CPU)
    middle = (samples.times.start + samples.times.stop) // 2
    edges = distinct_times(gaps.start, gaps.stop, middle, middle + 1)
    is_in = gaps.covers(edges)[np.searchsorted(edges, middle)]
    workers = np.unique(samples.worker[is_in]).tolist()
    return max((float(samples.value[is_in & (samples.worker == id)].mean()) for id in workers), default=0.0)


def _by_kind(evidence: Evidence, gaps: Intervals) -> dict[str, float]:
    """What clients did, in seconds; NOTHING: that isn't known."""
    clients, found = evidence.clients, dict[str, float]()
    *others, own_code = OF_CLIENTS
    of_kind = [(kind, clients.times[kind]) for kind in others]
    for kind, times in [*of_kind, (WAITING, clients.waiting), (own_code, clients.times[own_code])]:
        left = gaps.without(times)
        found[kind] = gaps.seconds - left.seconds
        gaps = left
    return {**found, ThreadKind.NOTHING: gaps.seconds}


KIND = FindingKind(
    title="a client that takes the time",
    advice="Do this work in tasks, or while tasks run: submit the next round before the results of this one "
    "are used, and follow them by `as_completed`. Between rounds, keep data on the cluster.",
    documentation="https://docs.dask.org/en/stable/best-practices.html",
    find=find,
    counts=(ThreadKind.NOTHING, ThreadKind.OTHERS),
    explained_by=("large-graph", "scheduler-busy", "unrunnable"),
)
