"""Tasks that wait for one another: for a lock or semaphore, a resource or an executor of their worker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from observatory.clusters.formatting import format_duration
from observatory.store.queries.windows.tasks.executors import named_executors
from observatory.store.workers.tags import amount_text
from observatory.why.findings.evidence import CONSTRAINED, Evidence
from observatory.why.findings.finding import Finding, FindingKind
from observatory.why.findings.observed.lease_waits import lease_waits
from observatory.why.findings.observed.samples import LabelledSamples
from observatory.why.findings.observed.tasks.executor_waits import executor_waits
from observatory.why.findings.observed.tasks.nested_tasks import waits_in
from observatory.why.findings.observed.tasks.turns import Turns, turns
from observatory.why.findings.observed.tasks.waiting_tasks import LISTED
from observatory.why.findings.texts import counted, facts, listed
from observatory.why.intervals import Integers, Intervals, Numbers, Steps
from observatory.why.thread_times.assignments import PROCESSING
from observatory.why.thread_times.gil import CONTENTION
from observatory.why.thread_times.kinds import FINISHED, ThreadKind
from observatory.why.what_if.recorded.leases import (
    LABEL,
    MAXIMUM_LEASES,
    PENDING,
    acquiring_computations,
    seconds_of_samples,
    steps_of_samples,
)
from observatory.why.what_if.without import Shorter, Without
from observatory.wire.tasks.waits import FILE_LOCK, LOCK

LEAST_SHARE = 0.1
"""of the time of threads in which there was something to do"""
LEAST_HOLDING = 0.3
"""threads with a task that don't wait, on average: one of them has what the others wait for"""
LEAST_CONTENTION = 0.3
"""share of the time in which threads wait for the GIL, which isn't told from other locks"""
LEAST_WITHOUT_CPU = 0.5
"""of the time in which tasks wait for their turn, that they used no CPU"""
MORE_IN_TURNS = 1.5
"""times as long as tasks were seen to wait for locks, that they waited for their turns"""
MOST_OF_FIRST_USES = 0.8
"""of the waiting for a lock, by first tasks on their workers: it is held while something is set up, once"""
NAMES = {LOCK: "a lock, a condition or a queue of their process", FILE_LOCK: "the lock of a file"}
NAMED_SHARE = 0.1
"""of the waiting, from which a prefix is named"""
ASKS_ACTOR = re.compile(r"^result\t[^\n]*distributed/actor\.py\t", re.MULTILINE)
"""a frame of a stack"""
ACTOR_ADVICE = (
    "An actor runs one method at a time, in a thread of its own: make several actors, ask for more in a "
    "call, or let tasks do this work."
)
RESOURCE_ADVICE = (
    "Tell workers that they have more of it where that is true (`--resources`), let tasks require less, or "
    "require it only for the step that needs it: other steps can be tasks of their own."
)


EXECUTOR_ADVICE = (
    "Give this executor of the workers as many threads as may run at once, or annotate only the step that "
    "needs it: tasks without `executor=` run on all threads."
)
MOST_EXECUTORS = 10_000
"""pairs of an executor and a group that are read"""


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from list(_leases(evidence)) or _locks_or_turns(evidence)
    yield from _resources(evidence)
    yield from _executors(evidence)


def _locks_or_turns(evidence: Evidence) -> list[Finding]:
    """One finding for locks of processes and of files each, as samples saw them. Instead one for each prefix
    whose tasks take turns, where they wait far longer for these, as for a lock of another process, which
    samples don't see; or where they wait for an actor, whose answers take time by themselves."""
    locks, turns_of_prefixes = list(_locks(evidence)), list(_turns(evidence))
    of_locks, of_turns = (sum(one.cost.thread_seconds for one in some) for some in (locks, turns_of_prefixes))
    ask_actors = all(one.advice == ACTOR_ADVICE for one in locks)
    is_whole = of_turns > MORE_IN_TURNS * of_locks or (ask_actors and of_turns)
    return turns_of_prefixes if is_whole else locks


def _leases(evidence: Evidence) -> Iterator[Finding]:
    pending, most = (evidence.labelled(metric, LABEL) for metric in (PENDING, MAXIMUM_LEASES))
    acquiring = _acquiring(evidence) if pending else np.zeros(0, np.int64)
    for name, samples in pending.items():
        lengths = seconds_of_samples(samples.time)
        own = _of_run(evidence, samples, acquiring)
        waited = float((own * lengths).sum())
        cost = evidence.cost(waited)
        if not _is_much(evidence, waited):
            continue
        waiting = own > 0
        leases = int(most[name].value.max()) if name in most else 1
        length = float(lengths[waiting].sum())
        yield Finding(
            f"Tasks waited {format_duration(waited)} for “{evidence.text(name)}”, a lock or semaphore that "
            f"{counted(leases, 'task')} can hold at once: for {format_duration(length)}, "
            f"{waited / length:.1f} waited on average.",
            cost,
            facts(
                ("most at once", f"{leases:,}"),
                ("waited on average", f"{waited / length:.1f}"),
                ("most that waited", f"{int(own.max()):,}"),
            ),
            (evidence.moment("tasks wait from here on", float(samples.time[np.argmax(waiting)])),),
            prefixes=tuple(np.unique(evidence.computations.spans.prefix[acquiring]).tolist()),
            without=_without(
                lease_waits(evidence.computations.spans, acquiring, steps_of_samples(samples.time, own))
            ),
        )


def _of_run(evidence: Evidence, pending: LabelledSamples, acquiring: Integers) -> Numbers:
    """How many of the run's tasks wait for a lease: at most its own, without those that others can have."""
    if not evidence.others:
        return pending.value
    if not len(acquiring):
        return np.zeros(len(pending.value))
    times = (pending.time * 1e6).astype(np.int64)
    known = evidence.stays
    own = _count_at(known.where(known.state == PROCESSING).times, times)
    others = _count_at(evidence.records.others.times, times)
    return np.clip(pending.value - others, 0, own)


def _acquiring(evidence: Evidence) -> Integers:
    """The computations that acquire leases."""
    found = evidence.computations
    return acquiring_computations(
        found.spans, found.durations, lambda prefix: evidence.code.task_stacks([prefix])
    )


def _without(waited: Numbers) -> Without:
    """Without the seconds that each computation waited."""
    rows = np.flatnonzero(waited)
    return Without((Shorter(rows, waited[rows]),))


def _count_at(times: Intervals, at: Integers) -> Integers:
    """How many intervals cover each time."""
    begun = np.searchsorted(np.sort(times.start), at, side="right")
    return np.asarray(begun - np.searchsorted(np.sort(times.stop), at, side="right"))


def _locks(evidence: Evidence) -> Iterator[Finding]:
    waiting = evidence.waiting_tasks
    for wait, name in NAMES.items():
        locked = waiting.locked(wait)
        if wait == LOCK:  # a thread of another process can have the lock of a file
            locked = _held(evidence, locked)
        waited = sum(steps.seconds for steps in locked.values())
        if not _is_much(evidence, waited) or _in_first_uses(evidence, waiting.of_rows(locked)):
            continue
        prefixes = _named(waiting.by_prefix(locked))
        asks_actor = waits_in(ASKS_ACTOR, evidence.code.task_stacks(prefixes))
        code = evidence.code.of_tasks(*prefixes)
        where = f" They were seen most often in {code[0]}." if code else ""
        what = "an answer of an actor" if asks_actor else f"{name}, which another task had"
        yield Finding(
            f"Tasks of {listed([evidence.prefix(id) for id in prefixes])} waited "
            f"{format_duration(waited)} for {what}.{where}",
            evidence.cost(waited),
            facts(
                *(
                    (evidence.worker(id), _lock_text(evidence, id, steps))
                    for id, steps in list(locked.items())[:5]
                ),
                ("code in which they were seen", ", ".join(code)),
            ),
            (evidence.moment("they wait from here on", min(map(_begin, locked.values()))),),
            evidence.tasks(waiting.longest(locked)),
            tuple(locked),
            tuple(prefixes),
            ACTOR_ADVICE if asks_actor else "",
            without=_without(waiting.of_rows(locked)),
        )


def _in_first_uses(evidence: Evidence, waited: Numbers) -> bool:
    """Whether it was first tasks that waited for these seconds, by computation."""
    rows = [use.rows for use in evidence.first_uses]
    of_first = float(waited[np.concatenate(rows)].sum()) if rows else 0.0
    return of_first > MOST_OF_FIRST_USES * float(waited.sum())


def _named(seconds: Mapping[int, float]) -> list[int]:
    """The prefixes that waited, without those of little of it."""
    return [id for id in seconds if seconds[id] >= NAMED_SHARE * sum(seconds.values())][:3]


def _turns(evidence: Evidence) -> Iterator[Finding]:
    for one in turns(evidence.computations):
        waited = float(one.waited.sum())
        if not _is_much(evidence, waited) or _computed_meanwhile(evidence, one):
            continue
        longest = one.rows[np.argsort(-one.waited, kind="stable")][:LISTED]
        code = evidence.code.of_tasks(one.prefix)
        where = f" They were seen most often in {code[0]}." if code else ""
        asks_actor = waits_in(ASKS_ACTOR, evidence.code.task_stacks([one.prefix]))
        what = "an answer of an actor" if asks_actor else "something that one of them can have at a time"
        yield Finding(
            f"Tasks of {evidence.prefix(one.prefix)} took turns: one of them ended every "
            f"{format_duration(one.every)}, although {one.at_once:.1f} had a thread on average. The shortest "
            f"took {format_duration(one.alone)}: all of them waited {format_duration(waited)} longer, as for "
            f"{what}.{where}",
            evidence.cost(waited),
            facts(
                ("tasks", f"{len(one.rows):,}"),
                ("between two ends", format_duration(one.every)),
                ("code in which they were seen", ", ".join(code)),
            ),
            (evidence.moment("they begin", _start(evidence, one.rows)),),
            evidence.tasks(longest),
            prefixes=(one.prefix,),
            advice=ACTOR_ADVICE if asks_actor else "",
            without=Without((Shorter(one.rows, one.waited),)),
        )


def _computed_meanwhile(evidence: Evidence, one: Turns) -> bool:
    """Whether tasks used the CPU for most of the time in which they would have waited for their turn."""
    took = float(evidence.computations.durations[one.rows].sum())
    return took - evidence.waiting_tasks.computed(one.rows) < LEAST_WITHOUT_CPU * float(one.waited.sum())


def _start(evidence: Evidence, rows: Integers) -> float:
    return float(evidence.computations.spans.times.start[rows].min()) / 1e6


def _resources(evidence: Evidence) -> Iterator[Finding]:
    samples = evidence.samples(*CONSTRAINED)
    times = {
        id: samples.times.where((samples.worker == id) & (samples.value > 0)).union()
        for id in np.unique(samples.worker[samples.value > 0]).tolist()
    }
    waited = {id: evidence.waits.of_kind_during(ThreadKind.READY, {id: times[id]}) for id in times}
    if not _is_much(evidence, sum(waited.values())):
        return
    workers = sorted(waited, key=lambda id: -waited[id])
    names = sorted({name for id in workers if id in evidence.ends for name in evidence.ends[id].resources})
    named = f" ({', '.join(map(evidence.text, names))})" if names else ""
    length = sum(float((some.stop - some.start).sum()) for some in times.values()) / 1e6
    yield Finding(
        f"Tasks waited for a resource{named} of {listed([evidence.worker(id) for id in workers])} that other "
        f"tasks had, for {format_duration(length)}. Threads were idle for "
        f"{format_duration(sum(waited.values()))} meanwhile.",
        evidence.cost(sum(waited.values())),
        facts(
            *((evidence.worker(id), _resource_text(evidence, id)) for id in workers[:5]),
            ("tasks that waited for it, at most", f"{samples.value.max():,.0f}"),
        ),
        (evidence.moment("they wait from here on", min(_since(some) for some in times.values())),),
        workers=tuple(workers),
        advice=RESOURCE_ADVICE,
        without=Without(resources=True),
    )


def _executors(evidence: Evidence) -> Iterator[Finding]:
    if not _is_much(evidence, evidence.time.seconds[ThreadKind.READY]):
        return  # nor is any part of it: annotations of very many tasks need not be read
    found, records = evidence.computations, evidence.records
    groups = np.unique(found.spans.group).tolist()
    named = named_executors(
        evidence.connection, evidence.scope.cluster.pk, groups, evidence.stop, MOST_EXECUTORS
    )
    for one in executor_waits(found, named, records.workers, evidence.time.prefixes):
        if not _is_much(evidence, one.seconds):
            continue
        threads = max(worker.threads for worker in records.workers if worker.id in one.workers)
        yield Finding(
            f"Tasks of {listed([evidence.prefix(id) for id in one.prefixes])} waited for the executor "
            f"“{evidence.text(one.name)}”: a worker ran at most {one.at_once} of them at once, and had "
            f"{counted(threads, 'thread')}. Threads were idle for {format_duration(one.seconds)} meanwhile.",
            evidence.cost(one.seconds),
            facts(
                ("tasks", f"{len(one.rows):,}"),
                ("most at once on a worker", f"{one.at_once}"),
                ("workers", f"{len(one.workers):,}"),
            ),
            (evidence.moment("they begin", _start(evidence, one.rows)),),
            evidence.tasks(one.rows[:LISTED]),
            one.workers,
            one.prefixes,
            EXECUTOR_ADVICE,
        )


def _is_much(evidence: Evidence, seconds: float) -> bool:
    return seconds >= LEAST_SHARE * evidence.waits.active and evidence.is_worth(evidence.cost(seconds))


def _held(evidence: Evidence, locked: Mapping[int, Steps]) -> dict[int, Steps]:
    """Those that wait for another thread of their worker, and on other workers the same tasks: for what a
    task of another worker has, as Dask's own locks and events."""
    held = {id: steps for id, steps in locked.items() if _is_held(evidence, id, steps)}
    waiting = evidence.waiting_tasks
    named = set(waiting.by_prefix(held)) if held else set()
    for id, steps in locked.items():
        if id not in held and not _is_gil(evidence, id) and named.issuperset(waiting.by_prefix({id: steps})):
            held[id] = steps
    return held


def _is_held(evidence: Evidence, worker: int, steps: Steps) -> bool:
    """Whether another thread of the worker has what some wait for, and that isn't Python's own lock."""
    return evidence.waiting_tasks.beside(worker, steps) >= LEAST_HOLDING and not _is_gil(evidence, worker)


def _is_gil(evidence: Evidence, worker: int) -> bool:
    """Whether Python's own lock can be what threads of a worker wait for."""
    samples = evidence.samples(CONTENTION)
    values = samples.value[samples.worker == worker]
    return bool(len(values)) and float(values.mean()) >= LEAST_CONTENTION


def _lock_text(evidence: Evidence, worker: int, steps: Steps) -> str:
    lengths, waited = np.diff(steps.edges), steps.values
    mean = float(np.average(waited[waited > 0], weights=lengths[waited > 0]))
    return f"{mean:.1f} waited on average, {evidence.waiting_tasks.beside(worker, steps):.1f} did not"


def _begin(steps: Steps) -> float:
    return float(steps.edges[int(np.argmax(steps.values > 0))]) / 1e6


def _since(times: Intervals) -> float:
    return float(times.start[0]) / 1e6


def _resource_text(evidence: Evidence, worker: int) -> str | None:
    known = evidence.ends.get(worker)
    amounts = known.resources.items() if known else ()
    return ", ".join(f"{evidence.text(name)}: {amount_text(amount)}" for name, amount in amounts) or None


KIND = FindingKind(
    title="locks, semaphores, resources and executors that tasks wait for",
    advice="Hold it for as short as possible: compute before it is acquired, and only write while it is "
    "held. Allow more leases where what it protects can take them, or send this work to one task of its own.",
    documentation="https://docs.dask.org/en/stable/futures.html#coordination-primitives",
    find=find,
    counts=(*FINISHED, ThreadKind.READY, ThreadKind.OTHERS),
)
