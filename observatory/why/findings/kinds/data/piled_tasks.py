"""Tasks that pile up on a worker, as that has their data, while threads of others have nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from observatory.clusters.formatting import format_bytes, format_duration, format_percent
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers, Steps
from observatory.why.piles import GAP, Pile, Piles
from observatory.why.thread_times.assignments import PROCESSING
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.what_if.without import Without

LEAST_SHARE = 0.1
"""of the time of threads in which there was something to do"""
LEAST_WORK = 0.1
"""of the time in which there was something to do, that the tasks of a pile take the threads of its worker"""
LEAST_HELD = 0.5
"""share of what tasks needed that their worker had made, from which they are there for their data"""
NAMED_SHARE = 0.1
"""of the time of these tasks, from which a prefix is named"""
MOST_PREFIXES, LISTED = 3, 10


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers with which tasks stayed."""
    piles = Piles([one for one in evidence.piles.piles if _is_much(evidence, one)], evidence.piles.idle)
    idle = piles.threads.seconds
    cost = evidence.cost(idle)
    movable = sum(_work(evidence, one) for one in piles.piles)
    if min(idle, movable) < LEAST_SHARE * evidence.waits.active or not evidence.is_worth(cost):
        return
    by_worker = sorted(piles.piles, key=lambda one: -one.waiting.seconds)
    named, rows = _named(evidence, np.concatenate([_rows(evidence, one) for one in by_worker]))
    if not len(rows):
        return
    names = listed([evidence.worker(one.worker) for one in by_worker])
    longest = by_worker[0]
    share, nbytes = _held(evidence, rows, named)
    reason = f", which had made {format_percent(share)} of what they needed" if share >= LEAST_HELD else ""
    yield Finding(
        f"{counted(len(rows), 'task')} of {listed([evidence.prefix(id) for id in named])} stayed with "
        f"{names}{reason}: up to {longest.waiting.values.max():.0f} waited there for a thread, while "
        f"{_mean(piles.threads):.1f} threads of other workers, which could have had them, were idle "
        f"for {format_duration(idle)}.",
        cost,
        facts(
            *((evidence.worker(one.worker), _text(one)) for one in by_worker[:5]),
            ("what they needed was made there", format_percent(share) if nbytes else None),
            ("what they needed, on average", format_bytes(nbytes / len(rows)) if nbytes else None),
            ("tasks that work stealing moved", f"{_stolen(evidence):,}"),
        ),
        (evidence.moment("they wait from here on", float(longest.times.start[0]) / 1e6),),
        evidence.tasks(rows[:LISTED]),
        tuple(one.worker for one in by_worker),
        tuple(named),
        without=Without(held=True),
    )


def _is_much(evidence: Evidence, pile: Pile) -> bool:
    """Whether it is much work: not a few tasks behind a long one."""
    threads = next(one.threads for one in evidence.records.workers if one.id == pile.worker)
    return _work(evidence, pile) / threads >= LEAST_WORK * evidence.waits.wall


def _work(evidence: Evidence, pile: Pile) -> float:
    """Seconds of its tasks: of a straggler what is usual, as that takes as long elsewhere."""
    rows, found = _rows(evidence, pile), evidence.computations
    return float(np.where(evidence.stragglers[rows], found.usual[rows], found.durations[rows]).sum())


def _named(evidence: Evidence, rows: Integers) -> tuple[list[int], Integers]:
    """The prefixes of some computations that took most time, and their rows."""
    found = evidence.computations
    prefixes, place = np.unique(found.spans.prefix[rows], return_inverse=True)
    seconds = np.bincount(place, found.durations[rows], len(prefixes))
    order = np.argsort(-seconds, kind="stable")[:MOST_PREFIXES]
    named = [int(prefixes[at]) for at in order if seconds[at] >= NAMED_SHARE * seconds.sum()]
    return named, rows[np.isin(found.spans.prefix[rows], named)]


def _rows(evidence: Evidence, pile: Pile) -> Integers:
    """Its computations that began while others waited or at the end of that, in their order."""
    spans = evidence.computations.spans
    own = np.flatnonzero((spans.worker == pile.worker) & evidence.computations.finished)
    start = spans.times.start[own]
    place = np.searchsorted(pile.times.start, start, side="right") - 1
    is_in = (place >= 0) & (start <= pile.times.stop[np.maximum(place, 0)] + GAP)
    return own[is_in][np.argsort(start[is_in], kind="stable")]


def _held(evidence: Evidence, rows: Integers, prefixes: list[int]) -> tuple[float, int]:
    """The share, by bytes, of what tasks needed that their worker had made; and how much they needed."""
    spans = evidence.computations.spans
    there = everything = 0
    for prefix in prefixes:
        needed = evidence.needed_by(prefix)
        is_own = np.isin(needed.needing, rows)
        needing, places = needed.needing[is_own], needed.places[is_own]
        nbytes = spans.nbytes[places]
        everything += int(nbytes.sum())
        there += int(nbytes[spans.worker[places] == spans.worker[needing]].sum())
    return there / max(everything, 1), everything


def _stolen(evidence: Evidence) -> int:
    transitions = evidence.records.transitions
    return int(((transitions.start == PROCESSING) & (transitions.finish == PROCESSING)).sum())


def _mean(threads: Steps) -> float:
    """While there was any."""
    is_any = threads.values > 0
    return float(np.average(threads.values[is_any], weights=np.diff(threads.edges)[is_any]))


def _text(pile: Pile) -> str:
    length = pile.times.seconds
    return f"{pile.waiting.seconds / length:.1f} tasks waited on average, for {format_duration(length)}"


KIND = FindingKind(
    title="tasks that pile up on one worker",
    advice="Spread their data first: `client.rebalance()`, `client.replicate(…)` or `client.scatter(…, "
    "broadcast=True)`, or load it in as many tasks as there are threads. See whether work stealing is "
    "off (`distributed.scheduler.work-stealing`), and whether tasks ask for that worker (`workers=…`).",
    documentation="https://distributed.dask.org/en/stable/locality.html",
    find=find,
    counts=(ThreadKind.OTHERS,),
    explained_by=("serialized", "silent-worker"),
)
