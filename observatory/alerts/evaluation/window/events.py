"""Evaluates conditions on events: counts the events that are in effect at each instant.

An event at t is in effect from t on for the condition's window. A lasting event (RuleEvent.is_lasting) is in
effect while the state lasts: a worker is paused until its status changes or it leaves, a scheduler is
unreachable until it answers or the cluster ends, an agent is silent until it is heard. The condition is TRUE
while `count` or more events are in effect, otherwise FALSE. Its text is the message of the newest event.

- TASK_ERRED: tasks that failed for good. An agent reports each, a stock scheduler their number.
- ENDED_WITH_ERRORS: the end of a cluster with failed tasks, or with unfinished tasks and no orderly shutdown.
- RUN_SLOWER: the end of a run that took longer than earlier runs of its name (comparison/slowdown.py).

An event that belongs to a worker counts for that worker, any other for the cluster. Only the newest 20,000
log lines and errors of a window are read. Patterns are RE2 expressions, which take linear time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.event_data import STATUSES
from observatory.alerts.evaluation.window.outcomes import CLUSTER, Subject, Truth
from observatory.alerts.evaluation.window.run_data import stop_of
from observatory.alerts.evaluation.window.samples import ENDLESS
from observatory.alerts.evaluation.window.steps import SECOND, Integers, Steps, keys_of
from observatory.alerts.rules import events
from observatory.alerts.rules.conditions import By, EventCondition
from observatory.alerts.rules.events import ERRORS, LOGS, RULE_EVENTS
from observatory.clusters.end_reasons import CLOSED, TARGET_DELETED, TARGET_PAUSED
from observatory.clusters.formatting import format_duration
from observatory.comparison.slowdown import slowdown_of
from observatory.runs.discovery.discover import last_work
from observatory.store.patterns import pattern
from observatory.store.queries.alerts.events import KILLED, Occurrence
from observatory.store.queries.extents import read_extent

PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class EventInEffect:
    """Counts from `start` up to `until` (microseconds)."""

    worker: int | None
    name: str
    """of the worker"""
    start: int
    until: int
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class EventCounts:
    """For each subject the number of events in effect, the condition's truth and the newest text."""

    subjects: tuple[Subject, ...]
    values: Steps
    truths: Steps
    texts: Steps


def count_events(data: WindowData, condition: EventCondition) -> EventCounts:
    key = (condition.event, condition.window, condition.pattern, condition.level)
    if key not in data.cache:
        found = (each for each in _events_of(data, condition) if _is_within(data, each))
        if condition.pattern:
            search = pattern(condition.pattern).search
            found = (each for each in found if search(each.text))
        data.cache[key] = list(found)
    by_subject: defaultdict[Subject, list[EventInEffect]] = defaultdict(list)
    for each in data.cache[key]:
        is_own = condition.by == By.WORKER and each.worker is not None
        by_subject[Subject(each.worker, {"worker": each.name}) if is_own else CLUSTER].append(each)
    return _counts(data, condition, by_subject)


def _is_within(data: WindowData, event: EventInEffect) -> bool:
    return event.until > data.start and event.start < data.stop


def _counts(
    data: WindowData, condition: EventCondition, by_subject: Mapping[Subject, list[EventInEffect]]
) -> EventCounts:
    keys: list[Integers] = []
    values: list[Integers] = []
    texts: list[str] = []
    for place, found in enumerate(by_subject.values()):
        begins = np.array([each.start for each in found], np.int64)
        ends = np.array([each.until for each in found], np.int64)
        amounts = np.array([each.count for each in found], np.int64)
        times = np.unique(np.concatenate(([data.start], begins, ends)))
        times = times[(times >= data.start) & (times < data.stop)]
        values.append(_total(begins, amounts, times) - _total(ends, amounts, times))
        newest = np.searchsorted(begins, times, side="right") - 1
        texts.extend(
            found[place].text if count else ""
            for place, count in zip(newest.tolist(), values[-1].tolist(), strict=True)
        )
        keys.append(keys_of(place, times, data.start))
    if not keys:
        nothing = Steps(np.empty(0, np.int64), np.empty(0))
        return EventCounts((), nothing, nothing, nothing)
    every, counts = np.concatenate(keys), np.concatenate(values)
    truths = np.where(counts >= condition.count, Truth.TRUE, Truth.FALSE).astype(np.int8)
    return EventCounts(
        tuple(by_subject),
        Steps(every, counts.astype(float)),
        Steps(every, truths),
        Steps(every, np.array(texts, object)),
    )


def _total(instants: Integers, amounts: Integers, times: Integers) -> Integers:
    """The sum of the amounts at or before each of `times`."""
    order = np.argsort(instants, kind="stable")
    totals = np.concatenate(([0], np.cumsum(amounts[order])))
    return np.asarray(totals[np.searchsorted(instants[order], times, side="right")])


def _events_of(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    """The events that the condition counts, in order of start."""
    find = DERIVED.get(condition.event, _recorded)
    return find(data, condition)


def _recorded(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    """Every occurrence of all sources of the event."""
    sources = RULE_EVENTS[condition.event].sources
    found = (occurrence for source in sources for occurrence in data.events.of(source))
    return _for_window(sorted(found, key=attrgetter("time")), condition)


def _for_window(occurrences: Iterable[Occurrence], condition: EventCondition) -> Iterator[EventInEffect]:
    window = round(condition.window * SECOND)
    for each in occurrences:
        yield EventInEffect(each.worker, each.name, each.time, each.time + window, each.count, each.text)


def _killed_workers(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    return _for_window((each for each in data.events.of(ERRORS) if each.kind == KILLED), condition)


def _log_lines(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    lines = data.events.of(LOGS)
    return _for_window((line for line in lines if line.level >= condition.level), condition)


def _paused_workers(data: WindowData, _: EventCondition) -> Iterator[EventInEffect]:
    return iter(sorted(_pauses(data), key=attrgetter("start")))


def _pauses(data: WindowData) -> Iterator[EventInEffect]:
    by_worker: defaultdict[int, list[Occurrence]] = defaultdict(list)
    within = (each for each in data.events.of(STATUSES) if each.time >= data.start)
    for each in [*data.events.last_before(STATUSES), *within]:
        if each.worker in data.workers:
            by_worker[each.worker].append(each)
    for worker, statuses in by_worker.items():
        nexts = [each.time for each in statuses[1:]]
        for each, until in zip(statuses, [*nexts, ENDLESS], strict=True):
            if each.status == PAUSED:
                until = min(until, data.ends(worker))
                yield EventInEffect(worker, each.name, each.time, until, 1, each.text)


def _unreachable(data: WindowData, _: EventCondition) -> Iterator[EventInEffect]:
    for each in _between(data, *events.UNREACHABLE.sources):
        yield replace(each, until=min(each.until, data.ended))


def _interruptions(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    """These end by an event in any case, after the end of their cluster, too."""
    return _between(data, *RULE_EVENTS[condition.event].sources)


def _between(data: WindowData, opens: str, closes: str) -> Iterator[EventInEffect]:
    """From each event that opens a state to the next one that closes it."""
    before = data.events.last_before(opens, closes)[-1:]
    within = [each for kind in (opens, closes) for each in data.events.of(kind) if each.time >= data.start]
    since: Occurrence | None = None
    for each in [*before, *sorted(within, key=attrgetter("time"))]:
        if each.kind == opens:
            since = since or each
        elif since is not None:
            yield EventInEffect(None, "", since.time, each.time, 1, since.text)
            since = None
    if since is not None:
        yield EventInEffect(None, "", since.time, ENDLESS, 1, since.text)


def _ended_with_errors(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    cluster, ended = data.cluster, data.ended
    until = ended + round(condition.window * SECOND) if cluster.ended else ENDLESS
    if ended >= data.stop or until <= data.start or cluster.end_reason in (TARGET_PAUSED, TARGET_DELETED):
        return
    found = data.extent or read_extent(data.connection, cluster.pk)
    if found is None:
        return
    is_lost = cluster.end_reason != CLOSED and not cluster.is_unobserved
    if is_lost and last_work(data.connection, cluster, found):
        text = f"{cluster.end_reason}, while tasks were running"
        yield EventInEffect(None, "", ended, until, 1, text)
    elif found.errors:
        yield EventInEffect(None, "", ended, until, 1, f"ended after {found.errors:,} tasks erred")


def _slower_runs(data: WindowData, condition: EventCondition) -> Iterator[EventInEffect]:
    window = round(condition.window * SECOND)
    for run in data.runs.ended(condition.window):
        recent = data.runs.durations[run.pk]
        slower = None if recent.own is None else slowdown_of(recent.own, recent.before)
        if slower is not None:
            stop = stop_of(run)
            took, usual = format_duration(slower.seconds), format_duration(slower.usual)
            text = f"{run.name} took {took}, usually {usual}"
            yield EventInEffect(None, "", stop, stop + window, 1, text)


DERIVED: dict[str, Callable[[WindowData, EventCondition], Iterator[EventInEffect]]] = {
    events.KILLED_WORKER.name: _killed_workers,
    events.LOG.name: _log_lines,
    events.WORKER_PAUSED.name: _paused_workers,
    events.UNREACHABLE.name: _unreachable,
    events.AGENT_SILENCE.name: _interruptions,
    events.COLLECTOR_LAG.name: _interruptions,
    events.ENDED_WITH_ERRORS.name: _ended_with_errors,
    events.RUN_SLOWER.name: _slower_runs,
}
"""events that aren't simply every occurrence of their sources"""
