"""How long tasks waited on the worker that they had been sent to, and which tasks the cluster had."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from observatory.why.clocks import UNKNOWN, reported_times
from observatory.why.intervals import Flags, Integers, Intervals, joined
from observatory.why.records import Records, Spans, values_of
from observatory.wire.records import TASK_STATES, UNFINISHED_STATES

WAITING, NO_WORKER, QUEUED, PROCESSING, MEMORY = map(
    TASK_STATES.index, ("waiting", "no-worker", "queued", "processing", "memory")
)
UNFINISHED = tuple(map(TASK_STATES.index, UNFINISHED_STATES))
RELEASED = TASK_STATES.index("released")
NO_STATE = -1
LEFT_FOR = (NO_STATE, *(TASK_STATES.index(state) for state in ("released", "forgotten", *UNFINISHED_STATES)))
"""states after processing that say that a task did not finish there; PROCESSING itself: it was stolen"""
AT_ONCE = 10_000
"""microseconds for which the scheduler releases a task that it sends again: a client takes longer"""
DEATH = 2_000_000
"""microseconds between the end of a worker and the transitions that it causes"""


@dataclass(frozen=True, slots=True)
class Stays:
    """Times that tasks spent in a state, each from a transition until the task's next one."""

    task: Integers
    prefix: Integers
    state: Integers
    worker: Integers
    """0: none"""
    times: Intervals
    next: Integers
    """the state after it; NO_STATE: there is none in the window"""

    def where(self, condition: Flags | Integers) -> Stays:
        return Stays(
            self.task[condition],
            self.prefix[condition],
            self.state[condition],
            self.worker[condition],
            self.times.where(condition),
            self.next[condition],
        )


@dataclass(frozen=True, slots=True)
class Assignments:
    """Tasks on the worker that they had been sent to, from then on until they began to compute there."""

    worker: Integers
    prefix: Integers
    waits: Intervals
    is_lost: Flags
    """they never began before the worker died, or had not finished: `waits` ends with the worker"""

    def where(self, condition: Flags | Integers) -> Assignments:
        return Assignments(
            self.worker[condition],
            self.prefix[condition],
            self.waits.where(condition),
            self.is_lost[condition],
        )


def stays(records: Records) -> Stays:
    """The stays in the window, also in the state that a task's first known transition leaves."""
    rows = records.transitions
    order = rows.by_task
    task, time, finish = rows.task[order], rows.time[order], rows.finish[order]
    is_first = _is_other_than_before(task)
    is_last = np.roll(is_first, -1)
    until = np.where(is_last, records.stop, np.roll(time, -1))
    after = np.where(is_last, NO_STATE, np.roll(finish, -1))
    first = order[is_first]
    begin = np.full(len(first), records.start)
    all_rows = np.concatenate([order, first])
    return Stays(
        rows.task[all_rows],
        rows.prefix[all_rows],
        np.concatenate([finish, rows.start[first]]),
        rows.worker[all_rows],
        Intervals(np.concatenate([time, begin]), np.concatenate([until, time[is_first]])),
        np.concatenate([after, finish[is_first]]),
    )


def assignments(records: Records, known: Stays) -> Assignments:
    sent = known.where((known.state == PROCESSING) & (known.worker > 0))
    start, stop = sent.times.start, sent.times.stop
    begun, begun_on = _first_computation(records, sent.task, start, stop)
    death = _deaths(records, sent.worker)
    is_lost = (begun_on == 0) & _are_lost(records, known, sent, death)
    # it has begun elsewhere, or its computation is not recorded: then it isn't known for how long it waited
    end = np.where(begun_on == sent.worker, begun, np.where(is_lost, np.minimum(stop, death), start))
    found = Assignments(sent.worker, sent.prefix, Intervals.of(start, np.maximum(start, end)), is_lost)
    # what is looked up at times is many times as fast in their order, where there are many
    return found.where(np.argsort(start, kind="stable"))


def left_behind(records: Records, known: Stays) -> Stays:
    """The tasks that a worker had which lived on, and that neither finished there nor failed.

    Without those that the scheduler sent again at once.
    """
    sent = known.where((known.state == PROCESSING) & (known.worker > 0))
    left = sent.where(np.isin(sent.next, LEFT_FOR) & (sent.next != PROCESSING))
    left = left.where(~_are_sent_again(known, left))
    if not len(left.task):
        return left
    same = replace(records, spans=records.spans.where(np.isin(records.spans.task, left.task)))
    begun, begun_on = _first_computation(same, left.task, left.times.start, left.times.stop)
    return left.where(
        (begun == 0) & (begun_on == 0) & ~_are_lost(records, known, left, _deaths(records, left.worker))
    )


def unfinished(records: Records, known: Stays) -> Intervals:
    """When the cluster had a task that was not finished."""
    computing = records.spans.computing.times
    waiting = known.where(np.isin(known.state, UNFINISHED)).times
    left = Intervals(records.unfinished.times.start, records.withdrawn)
    return joined([waiting, computing, left.where(left.stop > left.start)]).union()


def _are_sent_again(known: Stays, left: Stays) -> Flags:
    """Whether the scheduler released them only to send them once more, as it does for shuffles."""
    again = (known.state == RELEASED) & (known.next == WAITING) & (known.times.lengths <= AT_ONCE)
    return _are_followed_by(left, known.where(again))


def _are_withdrawn(known: Stays, left: Stays) -> Flags:
    """Whether they were released for good, as clients release what they do not want any more."""
    return _are_followed_by(left, known.where((known.state == RELEASED) & (known.next == NO_STATE)))


def _are_followed_by(first: Stays, next: Stays) -> Flags:
    """Whether one of the stays `next` of the same task begins as each of the `first` ends."""
    next = next.where(np.isin(next.task, first.task))
    begins = set(zip(next.task.tolist(), next.times.start.tolist(), strict=True))
    ends = zip(first.task.tolist(), first.times.stop.tolist(), strict=True)
    return np.array([end in begins for end in ends], np.bool_)


def _deaths(records: Records, workers: Integers) -> Integers:
    """When each of some workers ended; long before the window, where it lived on."""
    died = {one.id: one.stop for one in records.workers if one.has_ended}
    return values_of(workers, died, -DEATH * 10)


def _are_lost(records: Records, known: Stays, sent: Stays, death: Integers) -> Flags:
    """Whether tasks left a worker at its `death`.

    What one had that closed with the cluster isn't lost, nor what a client had released just before.
    """
    has_died = np.isin(sent.worker, [one.id for one in records.workers if one.has_died])
    at_its_end = np.abs(sent.times.stop - death) <= DEATH
    has_closed = at_its_end & ~has_died & (sent.next != NO_STATE)
    has_closed[has_closed] = ~_are_withdrawn(known, sent.where(has_closed))
    return np.asarray((at_its_end & has_died) | has_closed)


def at_scheduler(records: Records, known: Stays, cluster: Intervals) -> Intervals:
    """When a task could run and had not been sent to a worker; `cluster`: when it had a task.

    It was queued or had no worker; or a result wasn't known to the scheduler yet, for which others can have
    waited; or no task was with a worker.
    """
    times = [known.where(np.isin(known.state, (NO_WORKER, QUEUED))).times]
    if records.has_agent:
        computing = records.spans.computing
        reported = reported_times(computing, records.transitions)
        ended = computing.times.stop
        times.append(Intervals(ended, np.where(reported < UNKNOWN, np.maximum(ended, reported), ended)))
        with_workers = known.where(known.state == PROCESSING).times
        times.append(
            cluster.without(joined([computing.times, with_workers, records.unfinished.times]).union())
        )
    return joined(times).union()


def _first_computation(
    records: Records, task: Integers, start: Integers, stop: Integers
) -> tuple[Integers, Integers]:
    """Start and worker of the first computation of each task in [start, stop]; 0: there is none."""
    spans = records.spans.computing
    if not len(spans) or not len(task):
        return np.zeros(len(task), np.int64), np.zeros(len(task), np.int64)
    _, code = np.unique(np.concatenate([spans.task, task]), return_inverse=True)
    error = records.clock_errors_of(spans.worker)
    latest = spans.times.start + error
    first = min(int(latest.min()), int(start.min()))
    width = max(int(latest.max()), int(start.max())) - first + 1
    place_of_span = code[: len(spans)] * width + (latest - first)
    order = np.argsort(place_of_span, kind="stable")
    place = np.searchsorted(place_of_span[order], code[len(spans) :] * width + (start - first))
    found = order[np.minimum(place, len(order) - 1)]
    begun = spans.times.start[found]
    is_found = (place < len(order)) & (spans.task[found] == task) & (begun <= stop + error[found])
    return np.where(is_found, begun, 0), np.where(is_found, spans.worker[found], 0)


def is_repeated(spans: Spans) -> Flags:
    """Whether a computation that finished repeats one that had finished before."""
    if np.diff(np.sort(spans.task)).all():
        return np.zeros(len(spans), np.bool_)
    order = np.lexsort((spans.times.start, spans.task))
    finished = ~spans.is_error[order]
    task = spans.task[order]
    is_first = _is_other_than_before(task)
    earlier: Integers = np.cumsum(finished) - finished
    before = earlier - np.maximum.accumulate(np.where(is_first, earlier, 0))
    repeated = np.zeros(len(spans), np.bool_)
    repeated[order] = finished & (before > 0)
    return repeated


def _is_other_than_before(values: Integers) -> Flags:
    is_other = np.ones(len(values), np.bool_)
    is_other[1:] = values[1:] != values[:-1]
    return is_other
