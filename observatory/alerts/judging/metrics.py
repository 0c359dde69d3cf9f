"""What a condition on a metric says: the value of each of its subjects over a window, and the level.

**Subjects.** Each series, each worker that has series of the metric, or the whole cluster: the series of a
subject that have data at an instant are aggregated. The subject has none where none of them has.

**Division.** By another metric, aggregated in the same way, of the same subject; one that no worker has is
taken of the cluster, for all workers. Or by what a worker has (of the cluster: what its workers have
together). What is divided by 0, or by a limit that isn't there, has no data.

**Levels.** HOLDS where the comparison with the threshold is true; NOT where the one with the clear threshold
isn't; BETWEEN in between.

**Without data** a subject is NOT, or stays as it was (BETWEEN), or HOLDS, as the rule says: but NOT before it
began and after it, or its cluster, ended. It is without data from its last sample's end on; in its first
seconds, as many as a sample holds, it isn't yet.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.alerts.judging.measured import ENDLESS, Held, Measured, held, whole
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.steps import (
    Array,
    Floats,
    Integers,
    Steps,
    groups_of,
    joined,
    keys_of,
    times_of,
)
from observatory.alerts.judging.verdicts import CLUSTER, Level, Subject
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    MetricCondition,
    NoData,
    Selector,
)
from observatory.alerts.silences.matchers import match_all
from observatory.store.queries.alert_series import WorkerLifetime

COMPARE: dict[Comparison, Callable[[Floats, float], Array]] = {
    Comparison.ABOVE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
    Comparison.BELOW: operator.lt,
    Comparison.AT_MOST: operator.le,
}
WITHOUT_DATA = {NoData.RESOLVE: Level.NOT, NoData.KEEP: Level.BETWEEN, NoData.FIRE: Level.HOLDS}


@dataclass(frozen=True, slots=True)
class Curve:
    """A value of each of some subjects over a window; nan: no data."""

    subjects: tuple[Subject, ...]
    steps: Steps


def levels_of(readings: Readings, condition: MetricCondition, no_data: NoData) -> tuple[Curve, Steps]:
    """The values of a condition, and their levels, of the same subjects in the same order.

    Raises KeyError where the metric wasn't loaded.
    """
    curve = curve_of(readings, condition)
    if no_data == NoData.FIRE:
        curve = _with_all_workers(readings, condition, curve)
    compare = COMPARE[condition.comparison]
    clear = condition.threshold if condition.clear_threshold is None else condition.clear_threshold
    values = curve.steps.values
    levels = compare(values, clear).astype(np.int8)
    levels[compare(values, condition.threshold)] = Level.HOLDS
    steps = Steps(curve.steps.keys, levels)
    if no_data == NoData.RESOLVE:
        return curve, steps
    return curve, _where_missing(readings, condition, curve, steps, WITHOUT_DATA[no_data])


def curve_of(readings: Readings, condition: MetricCondition) -> Curve:
    """What the condition compares with its threshold."""
    quantile = condition.quantile if condition.aggregate == Aggregate.QUANTILE else 0.0
    asked = (condition.selector, condition.by, condition.aggregate, quantile, condition.divisor)
    if asked not in readings.cache:
        curve = _aggregated(readings, condition.selector, condition.by, condition)
        if condition.divisor is not None:
            curve = _divided(readings, condition, condition.divisor, curve)
        readings.cache[asked] = curve
    found: Curve = readings.cache[asked]
    return found


def _aggregated(readings: Readings, selector: Selector, by: By, condition: MetricCondition) -> Curve:
    measured = readings.measured(selector.metric).matching(selector)
    told = held(measured, selector, readings.start, readings.stop, whole_seconds=by == By.CLUSTER)
    subjects, group = _grouped(readings, measured, by)
    if len(measured.series) == len(subjects):
        return Curve(subjects, _single(told, group, len(subjects)))
    return Curve(subjects, _several(told, group, len(subjects), condition))


def _grouped(readings: Readings, measured: Measured, by: By) -> tuple[tuple[Subject, ...], Integers]:
    """The subjects, and that of each series by its place; -1: it has none."""
    if by == By.CLUSTER:
        return (CLUSTER,), np.zeros(len(measured.series), np.int64)
    if by == By.SERIES:
        subjects = (Subject(series.stored.worker, series.labels) for series in measured.series)
        return tuple(subjects), np.arange(len(measured.series))
    workers = [-1 if series.stored.worker is None else series.stored.worker for series in measured.series]
    ids = sorted(set(workers) - {-1})
    places = {-1: -1, **{id: place for place, id in enumerate(ids)}}
    found = tuple(Subject(id, {"worker": readings.workers[id].name}) for id in ids)
    return found, np.array([places[worker] for worker in workers], np.int64)


def _single(told: Held, group: Integers, groups: int) -> Steps:
    """Where each group has one series."""
    begins, gaps, starts = _instants(told, group, groups)
    keys = np.concatenate((begins, gaps, starts))
    values = np.full(len(keys), np.nan)
    values[: len(begins)] = told.values
    order = np.argsort(keys, kind="stable")
    return Steps(keys[order], values[order])


def _several(told: Held, group: Integers, groups: int, condition: MetricCondition) -> Steps:
    """Aggregates the series of each group that have data, at each instant at which one of them changes."""
    grouped = group[told.of] >= 0
    told = told.where(grouped)
    instants = joined(*_instants(told, group, groups))
    members = np.argsort(group, kind="stable")
    firsts = np.searchsorted(group[members], np.arange(groups + 1))
    # a row for each series of an instant's group, in order of instant and series
    many = np.diff(firsts)[groups_of(instants)]
    row = np.repeat(np.arange(len(instants)), many)
    place = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    series = members[firsts[groups_of(instants)][row] + place]
    keys = keys_of(told.of, told.times, told.start)
    times = times_of(instants, told.start)[row]
    last = np.searchsorted(keys, keys_of(series, times, told.start), side="right") - 1
    known = np.zeros(len(row), bool)
    if len(keys):
        known = (last >= 0) & (told.of[last] == series) & (told.until[last] > times)
    values = aggregated(told.values[last[known]], row[known], len(instants), condition)
    return Steps(instants, values)


def _instants(told: Held, group: Integers, groups: int) -> tuple[Integers, Integers, Integers]:
    """The keys at which groups have another value, those at which they may have none, starts without one."""
    start = told.start
    ends = told.until < told.stop
    ends[:-1] &= (told.of[1:] != told.of[:-1]) | (told.times[1:] != told.until[:-1])
    of = group[told.of]
    gaps = keys_of(of[ends], told.until[ends], start)
    is_told = np.zeros(groups, bool)
    is_told[of[told.times == start]] = True
    return keys_of(of, told.times, start), gaps, keys_of(np.flatnonzero(~is_told), start, start)


def aggregated(values: Floats, rows: Integers, count: int, condition: MetricCondition) -> Floats:
    """What the values of each of `count` rows are together; `rows` has that of each value, in order.

    nan: there are none.
    """
    many = np.bincount(rows, minlength=count)
    found = np.full(count, np.nan)
    has, firsts = many > 0, np.cumsum(many) - many
    with np.errstate(invalid="ignore"):
        match condition.aggregate:
            case Aggregate.SUM | Aggregate.MEAN:
                # one by one in the order of the series: however many there are, it is rounded in the same way
                total = np.bincount(rows, values, count)[has]
                found[has] = total / many[has] if condition.aggregate == Aggregate.MEAN else total
            case Aggregate.MIN:
                found[has] = np.minimum.reduceat(values, firsts[has]) if has.any() else []
            case Aggregate.MAX:
                found[has] = np.maximum.reduceat(values, firsts[has]) if has.any() else []
            case Aggregate.QUANTILE:
                ordered = values[np.lexsort((values, rows))]
                rank = condition.quantile * (many[has] - 1)
                below, above = np.floor(rank).astype(np.int64), np.ceil(rank).astype(np.int64)
                low, high = ordered[firsts[has] + below], ordered[firsts[has] + above]
                found[has] = np.where(low == high, low, low + (high - low) * (rank - below))
    return found


def _divided(
    readings: Readings, condition: MetricCondition, divisor: Selector | Attribute, curve: Curve
) -> Curve:
    if isinstance(divisor, Selector):
        other = _divisor(readings, divisor, condition)
        steps = other.steps.moved(partners(curve.subjects, other.subjects))
    else:
        steps = _attribute(readings, divisor, condition.by, curve.subjects)
    keys = joined(curve.steps.keys, steps.keys)
    divisors = steps.at(keys)
    divisors[divisors == 0] = np.nan
    with np.errstate(invalid="ignore", over="ignore"):
        return Curve(curve.subjects, Steps(keys, curve.steps.at(keys) / divisors))


def _divisor(readings: Readings, selector: Selector, condition: MetricCondition) -> Curve:
    """Aggregated as what it divides; one that no worker has over the cluster."""
    series = readings.measured(selector.metric).matching(selector).series
    is_of_cluster = condition.by == By.WORKER and all(each.stored.worker is None for each in series)
    return _aggregated(readings, selector, By.CLUSTER if is_of_cluster else condition.by, condition)


def _attribute(readings: Readings, attribute: Attribute, by: By, subjects: Sequence[Subject]) -> Steps:
    if by == By.CLUSTER:
        return _attribute_of_all(readings, attribute)
    own = (readings.workers.get(subject.worker_id or 0) for subject in subjects)
    values = [0 if worker is None else attribute_of(worker, attribute) for worker in own]
    return Steps(keys_of(np.arange(len(values)), readings.start, readings.start), np.array(values, float))


def attribute_of(worker: WorkerLifetime, attribute: Attribute) -> int:
    return worker.memory_limit if attribute == Attribute.MEMORY_LIMIT else worker.nthreads


def _attribute_of_all(readings: Readings, attribute: Attribute) -> Steps:
    """The sum over the workers that are there, at whole seconds as their samples."""
    there = [worker for worker in readings.workers.values() if attribute_of(worker, attribute)]
    amounts = np.array([attribute_of(worker, attribute) for worker in there], np.int64)
    begins = whole(np.array([worker.started for worker in there], np.int64))
    ends = whole(np.array([readings.ends(worker.id) for worker in there], np.int64))
    times = np.maximum(np.concatenate(([readings.start], begins, ends)), readings.start)
    changes = np.concatenate(([0], amounts, -amounts))
    order = np.argsort(times, kind="stable")
    times, totals = times[order], np.cumsum(changes[order])
    last = (np.diff(times, append=ENDLESS) > 0) & (times < readings.stop)
    return Steps(keys_of(0, times[last], readings.start), totals[last].astype(float))


def partners(subjects: Sequence[Subject], others: Sequence[Subject]) -> list[int]:
    """The place among `others` of what belongs to each subject: its own, or the cluster's; -1: nothing."""
    if len(others) == 1 and others[0] == CLUSTER:
        return [0] * len(subjects)
    places = {other: place for place, other in enumerate(others)}
    return [places.get(subject, -1) for subject in subjects]


def _with_all_workers(readings: Readings, condition: MetricCondition, curve: Curve) -> Curve:
    """With the workers that the metric has no series of: they may be without data, too."""
    if condition.by != By.WORKER:
        return curve
    matchers = [matcher for matcher in condition.selector.matchers if matcher.label == "worker"]
    known = {subject.worker_id for subject in curve.subjects}
    others = tuple(
        Subject(worker.id, labels)
        for worker in readings.workers.values()
        if worker.id not in known and match_all(matchers, labels := {"worker": worker.name})
    )
    places = np.arange(len(curve.subjects), len(curve.subjects) + len(others))
    keys = np.concatenate((curve.steps.keys, keys_of(places, readings.start, readings.start)))
    values = np.concatenate((curve.steps.values, np.full(len(others), np.nan)))
    return Curve(curve.subjects + others, Steps(keys, values))


def _where_missing(
    readings: Readings, condition: MetricCondition, curve: Curve, levels: Steps, level: Level
) -> Steps:
    """The levels with that of subjects without data, while they are there."""
    start, stop = readings.start, readings.stop
    begins = np.full(len(curve.subjects), start)
    if level == Level.HOLDS:
        begins = _begins(readings, condition, curve.subjects) + readings.stale(condition.selector.metric)
    ends = np.array([readings.ends(subject.worker_id) for subject in curve.subjects], np.int64)
    places = np.arange(len(begins))
    begun, ended = (begins > start) & (begins < stop), (ends > start) & (ends < stop)
    keys = joined(
        levels.keys,
        keys_of(places[begun], begins[begun], start),
        keys_of(places[ended], ends[ended], start),
    )
    times, groups = times_of(keys, start), groups_of(keys)
    is_there = (times >= begins[groups]) & (times < ends[groups])
    found = levels.at(keys)
    found[np.isnan(curve.steps.at(keys)) & is_there] = level
    return Steps(keys, found)


def _begins(readings: Readings, condition: MetricCondition, subjects: Sequence[Subject]) -> Integers:
    """When each of the subjects began, microseconds: its worker, its cluster, or its first sample."""
    if condition.by == By.CLUSTER:
        return np.array([readings.began])
    if condition.by == By.WORKER:
        return np.array([readings.workers[subject.worker_id or 0].started for subject in subjects], np.int64)
    return readings.firsts(condition.selector)
