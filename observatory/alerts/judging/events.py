"""What a condition on events says: how many of them count at an instant, and the level.

Something that happened at t counts from t on for the condition's window. What lasts counts as long as it
lasts: a paused worker until its status changes or it leaves, an unreachable scheduler until it is reached or
the cluster ends. HOLDS while `count` or more of them count, otherwise NOT; the text is that of the newest.

- TASK_ERRED: tasks that failed for good, one by one as an agent tells them, or in numbers.
- ENDED_WITH_ERRORS: a cluster's end, if tasks had failed, or were worked on though nobody closed it.
- RUN_SLOWER: a run's end, if it took longer than those of its name before (comparison/slowdown.py).

Of a worker are what tells its worker, the others of the cluster. Of each window at most the newest 20,000
lines and errors are looked at; regular expressions are RE2's, which no text can keep busy for long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from observatory.alerts.judging.measured import ENDLESS
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.steps import SECOND, Integers, Steps, keys_of
from observatory.alerts.judging.verdicts import CLUSTER, Level, Subject
from observatory.alerts.rules import events
from observatory.alerts.rules.conditions import By, EventCondition
from observatory.alerts.rules.events import ERRORS, LOGS
from observatory.alerts.silences.matchers import pattern
from observatory.clusters.formatting import format_duration
from observatory.comparison.slowdown import find_slowdown
from observatory.runs.discovery.discover import PLAIN_CLOSE, is_working
from observatory.runs.models import Run
from observatory.store.queries.alert_events import Happened, last_event, last_statuses
from observatory.store.queries.extents import read_extent
from observatory.store.times import from_microseconds

PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts from `start` until before `until` (microseconds)."""

    worker: int | None
    name: str
    """of the worker"""
    start: int
    until: int
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many count, of each subject, with the level and the newest text."""

    subjects: tuple[Subject, ...]
    values: Steps
    levels: Steps
    texts: Steps


def counts_of(readings: Readings, condition: EventCondition) -> Counts:
    asked = (condition.event, condition.window, condition.pattern, condition.level)
    if asked not in readings.cache:
        found = (each for each in _counted(readings, condition) if _is_within(readings, each))
        if condition.pattern:
            search = pattern(condition.pattern).search
            found = (each for each in found if search(each.text))
        readings.cache[asked] = list(found)
    by_subject: defaultdict[Subject, list[Counted]] = defaultdict(list)
    for each in readings.cache[asked]:
        is_own = condition.by == By.WORKER and each.worker is not None
        by_subject[Subject(each.worker, {"worker": each.name}) if is_own else CLUSTER].append(each)
    return _counts(readings, condition, by_subject)


def _is_within(readings: Readings, counted: Counted) -> bool:
    return counted.until > readings.start and counted.start < readings.stop


def _counts(
    readings: Readings, condition: EventCondition, by_subject: Mapping[Subject, list[Counted]]
) -> Counts:
    keys: list[Integers] = []
    values: list[Integers] = []
    texts: list[str] = []
    for place, found in enumerate(by_subject.values()):
        begins = np.array([each.start for each in found], np.int64)
        ends = np.array([each.until for each in found], np.int64)
        amounts = np.array([each.count for each in found], np.int64)
        times = np.unique(np.concatenate(([readings.start], begins, ends)))
        times = times[(times >= readings.start) & (times < readings.stop)]
        values.append(_total(begins, amounts, times) - _total(ends, amounts, times))
        newest = np.searchsorted(begins, times, side="right") - 1
        texts.extend(
            found[place].text if count else ""
            for place, count in zip(newest.tolist(), values[-1].tolist(), strict=True)
        )
        keys.append(keys_of(place, times, readings.start))
    if not keys:
        nothing = Steps(np.empty(0, np.int64), np.empty(0))
        return Counts((), nothing, nothing, nothing)
    every, counts = np.concatenate(keys), np.concatenate(values)
    levels = np.where(counts >= condition.count, Level.HOLDS, Level.NOT).astype(np.int8)
    return Counts(
        tuple(by_subject),
        Steps(every, counts.astype(float)),
        Steps(every, levels),
        Steps(every, np.array(texts, object)),
    )


def _total(instants: Integers, amounts: Integers, times: Integers) -> Integers:
    """The sum of the amounts whose instant is at each of the times, or before."""
    order = np.argsort(instants, kind="stable")
    totals = np.concatenate(([0], np.cumsum(amounts[order])))
    return np.asarray(totals[np.searchsorted(instants[order], times, side="right")])


def _counted(readings: Readings, condition: EventCondition) -> Iterator[Counted]:
    """In order of start."""
    happened = readings.happened
    match condition.event:
        case events.TASK_ERRED.name:
            erred = [*happened.of(ERRORS), *happened.of("tasks-erred")]
            yield from _each(sorted(erred, key=attrgetter("time")), condition)
        case events.KILLED_WORKER.name:
            yield from _each((each for each in happened.of(ERRORS) if each.kind == "killed"), condition)
        case events.LOG.name:
            lines = happened.of(LOGS)
            yield from _each((line for line in lines if line.level >= condition.level), condition)
        case events.WORKER_PAUSED.name:
            yield from sorted(_paused(readings), key=attrgetter("start"))
        case events.UNREACHABLE.name:
            yield from _unreachable(readings)
        case events.ENDED_WITH_ERRORS.name:
            yield from _ended(readings, condition)
        case events.RUN_SLOWER.name:
            yield from _slower_runs(readings, condition)
        case kind:
            yield from _each(happened.of(kind), condition)


def _each(happened: Iterable[Happened], condition: EventCondition) -> Iterator[Counted]:
    window = round(condition.window * SECOND)
    for each in happened:
        yield Counted(each.worker, each.name, each.time, each.time + window, each.count, each.text)


def _paused(readings: Readings) -> Iterator[Counted]:
    began = min((worker.started for worker in readings.workers.values()), default=readings.start)
    before = last_statuses(readings.connection, readings.cluster.pk, began, readings.start)
    by_worker: defaultdict[int, list[Happened]] = defaultdict(list)
    within = (each for each in readings.happened.of("worker-status") if each.time >= readings.start)
    for each in [*before, *within]:
        if each.worker in readings.workers:
            by_worker[each.worker].append(each)
    for worker, statuses in by_worker.items():
        nexts = [each.time for each in statuses[1:]]
        for each, until in zip(statuses, [*nexts, ENDLESS], strict=True):
            if each.status == PAUSED:
                until = min(until, readings.ends(worker))
                yield Counted(worker, each.name, each.time, until, 1, each.text)


def _unreachable(readings: Readings) -> Iterator[Counted]:
    kinds = events.UNREACHABLE.sources
    before = last_event(readings.connection, readings.cluster.pk, kinds, readings.began, readings.start)
    within = [each for kind in kinds for each in readings.happened.of(kind) if each.time >= readings.start]
    since: Happened | None = None
    for each in [*before, *sorted(within, key=attrgetter("time"))]:
        if each.kind == "scheduler-unreachable":
            since = since or each
        elif since is not None:
            yield Counted(None, "", since.time, each.time, 1, since.text)
            since = None
    if since is not None:
        yield Counted(None, "", since.time, readings.ended, 1, since.text)


def _ended(readings: Readings, condition: EventCondition) -> Iterator[Counted]:
    cluster, ended = readings.cluster, readings.ended
    until = ended + round(condition.window * SECOND) if cluster.ended else ENDLESS
    if ended >= readings.stop or until <= readings.start:
        return
    found = read_extent(readings.connection, cluster.pk)
    if found is None:
        return
    if cluster.end_reason != PLAIN_CLOSE and is_working(readings.connection, cluster, found):
        yield Counted(None, "", ended, until, 1, f"{cluster.end_reason}, though tasks were being worked on")
    elif found.errors:
        yield Counted(None, "", ended, until, 1, f"ended after {found.errors} tasks erred")


def _slower_runs(readings: Readings, condition: EventCondition) -> Iterator[Counted]:
    window = round(condition.window * SECOND)
    runs = readings.cluster.runs.filter(
        stop__gt=from_microseconds(readings.start - window),
        stop__lt=from_microseconds(readings.stop),
        outcome__in=(Run.Outcome.FINISHED, Run.Outcome.ERRED),
    )
    for run in runs.select_related("cluster").order_by("stop"):
        slower = find_slowdown(run)
        if slower is not None and run.stop is not None:
            stop = round(run.stop.timestamp() * SECOND)
            took, usual = format_duration(slower.seconds), format_duration(slower.usual)
            text = f"{run.name} took {took}, usually {usual}"
            yield Counted(None, "", stop, stop + window, 1, text)
