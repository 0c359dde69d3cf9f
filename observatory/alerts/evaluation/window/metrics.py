"""Evaluates conditions on metrics: the value and the truth of each subject over a window.

**Subjects** are each series, each worker with series of the metric, or the whole cluster. The series of a
subject that have data at an instant are aggregated. Without any, the subject has no data. A sum has the
memory or CPU of a process once, and those of a GPU, however many workers share it.

**Missing metrics.** If the comparison is ABSENT, a subject is TRUE without data, whatever the rule
says about it, and FALSE with data.

**Other values.** Another metric is aggregated in the same way and taken from the same subject; a metric
that no worker has is taken from the cluster for all workers. A worker's attribute is summed over the workers
for the whole cluster. A division by 0, or by a limit that isn't set, has no data. The other metric or
attribute can be subtracted instead.

**Truth.** TRUE where the comparison with the threshold is true, FALSE where the comparison with the clear
threshold is false, UNCHANGED in between.

**Without data** a subject is FALSE, UNCHANGED or TRUE, as the rule says; outside its own lifetime, or its
cluster's, it is FALSE. Data is missing from the end of the last sample on. A new subject is given the
staleness period before its data counts as missing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.outcomes import CLUSTER, Subject, Truth
from observatory.alerts.evaluation.window.samples import (
    ENDLESS,
    MetricSamples,
    SampleRanges,
    Series,
    ceil_to_second,
    valid_ranges,
)
from observatory.alerts.evaluation.window.steps import (
    Array,
    Floats,
    Integers,
    Steps,
    groups_of,
    keys_of,
    merged_keys,
    times_of,
)
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    MetricCondition,
    NoData,
    Operation,
    Selector,
)
from observatory.alerts.silences.matchers import match_all
from observatory.store.queries.alerts.series import WorkerLifetime
from observatory.wire.workers.processes import device_of, is_of_process

COMPARE: dict[Comparison, Callable[[Floats, float], Array]] = {
    Comparison.ABOVE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
    Comparison.BELOW: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.EQUAL: operator.eq,
    # nan is unequal to everything
    Comparison.NOT_EQUAL: lambda values, threshold: (values != threshold) & ~np.isnan(values),
    Comparison.ABSENT: lambda values, threshold: np.zeros(len(values), bool),
}
WITHOUT_DATA = {NoData.RESOLVE: Truth.FALSE, NoData.KEEP: Truth.UNCHANGED, NoData.FIRE: Truth.TRUE}


@dataclass(frozen=True, slots=True)
class SubjectValues:
    """The values of subjects over a window; nan: no data."""

    subjects: tuple[Subject, ...]
    steps: Steps


def evaluate_metric(
    data: WindowData, condition: MetricCondition, no_data: NoData
) -> tuple[SubjectValues, Steps]:
    """The values of a condition and their truths, for the same subjects in the same order.

    Raises KeyError if the metric wasn't loaded.
    """
    if condition.comparison is Comparison.ABSENT:
        no_data = NoData.FIRE
    curve = values_of(data, condition)
    if no_data == NoData.FIRE:
        curve = _with_all_workers(data, condition, curve)
    compare = COMPARE[condition.comparison]
    clear = condition.threshold if condition.clear_threshold is None else condition.clear_threshold
    values = curve.steps.values
    truths = compare(values, clear).astype(np.int8)
    truths[compare(values, condition.threshold)] = Truth.TRUE
    steps = Steps(curve.steps.keys, truths)
    if no_data == NoData.RESOLVE:
        return curve, steps
    return curve, _where_missing(data, condition, curve, steps, WITHOUT_DATA[no_data])


def values_of(data: WindowData, condition: MetricCondition) -> SubjectValues:
    """The values that the condition compares with its threshold."""
    quantile = condition.quantile if condition.aggregate == Aggregate.QUANTILE else 0.0
    key = (
        condition.selector,
        condition.by,
        condition.aggregate,
        quantile,
        condition.other,
        condition.operation,
    )
    if key not in data.cache:
        curve = _aggregated(data, condition.selector, condition.by, condition)
        if condition.other is not None:
            curve = _combined(data, condition, condition.other, curve)
        data.cache[key] = curve
    found: SubjectValues = data.cache[key]
    return found


def _aggregated(data: WindowData, selector: Selector, by: By, condition: MetricCondition) -> SubjectValues:
    samples = data.samples(selector.metric).matching(selector)
    ranges = valid_ranges(samples, selector, data.start, data.stop, in_whole_seconds=by == By.CLUSTER)
    subjects, group = _grouped(data, samples, by)
    if len(samples.series) == len(subjects):
        return SubjectValues(subjects, _single(ranges, group, len(subjects)))
    processes = _processes(data, samples)
    return SubjectValues(subjects, _several(ranges, group, len(subjects), condition, processes))


def _grouped(data: WindowData, samples: MetricSamples, by: By) -> tuple[tuple[Subject, ...], Integers]:
    """The subjects, and for each series the index of its subject (-1: none)."""
    if by == By.CLUSTER:
        return (CLUSTER,), np.zeros(len(samples.series), np.int64)
    if by == By.SERIES:
        subjects = (Subject(series.stored.worker, series.labels) for series in samples.series)
        return tuple(subjects), np.arange(len(samples.series))
    workers = [-1 if series.stored.worker is None else series.stored.worker for series in samples.series]
    ids = sorted(set(workers) - {-1})
    places = {-1: -1, **{id: place for place, id in enumerate(ids)}}
    found = tuple(Subject(id, {"worker": data.workers[id].name}) for id in ids)
    return found, np.array([places[worker] for worker in workers], np.int64)


def _single(ranges: SampleRanges, group: Integers, groups: int) -> Steps:
    """The steps if each group has one series."""
    begins, gaps, starts = _instants(ranges, group, groups)
    keys = np.concatenate((begins, gaps, starts))
    values = np.full(len(keys), np.nan)
    values[: len(begins)] = ranges.values
    order = np.argsort(keys, kind="stable")
    return Steps(keys[order], values[order])


def _several(
    ranges: SampleRanges, group: Integers, groups: int, condition: MetricCondition, processes: Integers
) -> Steps:
    """Aggregates the series of each group that have data, at each instant at which one of them changes.

    `processes`: the number of each series' process, of which a sum has one.
    """
    grouped = group[ranges.of] >= 0
    ranges = ranges.where(grouped)
    instants = merged_keys(*_instants(ranges, group, groups))
    members = np.argsort(group, kind="stable")
    firsts = np.searchsorted(group[members], np.arange(groups + 1))
    # one row for each instant and series of its group
    many = np.diff(firsts)[groups_of(instants)]
    row = np.repeat(np.arange(len(instants)), many)
    place = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    series = members[firsts[groups_of(instants)][row] + place]
    keys = keys_of(ranges.of, ranges.times, ranges.start)
    times = times_of(instants, ranges.start)[row]
    last = np.searchsorted(keys, keys_of(series, times, ranges.start), side="right") - 1
    known = np.zeros(len(row), bool)
    if len(keys):
        known = (last >= 0) & (ranges.of[last] == series) & (ranges.until[last] > times)
    if condition.aggregate == Aggregate.SUM and processes.size and processes.max() + 1 < processes.size:
        known[known] = _is_first(row[known] * processes.size + processes[series[known]])
    values = aggregated(ranges.values[last[known]], row[known], len(instants), condition)
    return Steps(instants, values)


def _processes(data: WindowData, samples: MetricSamples) -> Integers:
    """A number for each series: series with the same value of one process, or one GPU, have the same."""
    numbers: dict[Hashable, int] = {}
    return np.array(
        [numbers.setdefault(_process(data, series), len(numbers)) for series in samples.series], np.int64
    )


def _process(data: WindowData, series: Series) -> Hashable:
    stored = series.stored
    if device := device_of(stored.metric, stored.labels):
        return device, stored.labels.get("type")
    if stored.worker is None or not is_of_process(stored.metric, stored.labels):
        return stored.id
    return data.workers[stored.worker].process, *sorted(stored.labels.items())


def _is_first(keys: Integers) -> Array:
    """Where each key is for the first time."""
    is_first = np.zeros(len(keys), bool)
    is_first[np.unique(keys, return_index=True)[1]] = True
    return is_first


def _instants(ranges: SampleRanges, group: Integers, groups: int) -> tuple[Integers, Integers, Integers]:
    """The keys at which values begin, at which gaps may begin, and the starts of groups without a value."""
    start = ranges.start
    ends = ranges.until < ranges.stop
    ends[:-1] &= (ranges.of[1:] != ranges.of[:-1]) | (ranges.times[1:] != ranges.until[:-1])
    of = group[ranges.of]
    gaps = keys_of(of[ends], ranges.until[ends], start)
    is_known = np.zeros(groups, bool)
    is_known[of[ranges.times == start]] = True
    return keys_of(of, ranges.times, start), gaps, keys_of(np.flatnonzero(~is_known), start, start)


def aggregated(values: Floats, rows: Integers, count: int, condition: MetricCondition) -> Floats:
    """Aggregates values by row. `rows` (sorted, below `count`) has each value's row; empty rows are nan."""
    many = np.bincount(rows, minlength=count)
    found = np.full(count, np.nan)
    has, firsts = many > 0, np.cumsum(many) - many
    with np.errstate(invalid="ignore"):
        match condition.aggregate:
            case Aggregate.SUM | Aggregate.MEAN:
                # sum in the order of the series, so that rounding doesn't depend on the number of rows
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


def _combined(
    data: WindowData, condition: MetricCondition, other: Selector | Attribute, curve: SubjectValues
) -> SubjectValues:
    if isinstance(other, Selector):
        others = _other(data, other, condition)
        steps = others.steps.regrouped(partners(curve.subjects, others.subjects))
    else:
        steps = _attribute(data, other, condition.by, curve.subjects)
    keys = merged_keys(curve.steps.keys, steps.keys)
    values, second = curve.steps.at(keys), steps.at(keys)
    with np.errstate(invalid="ignore", over="ignore"):
        if condition.operation is Operation.SUBTRACT:
            return SubjectValues(curve.subjects, Steps(keys, values - second))
        second[second == 0] = np.nan
        return SubjectValues(curve.subjects, Steps(keys, values / second))


def _other(data: WindowData, selector: Selector, condition: MetricCondition) -> SubjectValues:
    """The other metric, aggregated like the first; over the cluster if no worker has it."""
    series = data.samples(selector.metric).matching(selector).series
    is_of_cluster = condition.by == By.WORKER and all(each.stored.worker is None for each in series)
    return _aggregated(data, selector, By.CLUSTER if is_of_cluster else condition.by, condition)


def _attribute(data: WindowData, attribute: Attribute, by: By, subjects: Sequence[Subject]) -> Steps:
    if by == By.CLUSTER:
        return _attribute_of_all(data, attribute)
    own = (data.workers.get(subject.worker_id or 0) for subject in subjects)
    values = [0 if worker is None else attribute_of(worker, attribute) for worker in own]
    return Steps(keys_of(np.arange(len(values)), data.start, data.start), np.array(values, float))


def attribute_of(worker: WorkerLifetime, attribute: Attribute) -> int:
    return worker.memory_limit if attribute == Attribute.MEMORY_LIMIT else worker.nthreads


def _attribute_of_all(data: WindowData, attribute: Attribute) -> Steps:
    """The sum over the current workers, at whole seconds like their samples."""
    there = [worker for worker in data.workers.values() if attribute_of(worker, attribute)]
    amounts = np.array([attribute_of(worker, attribute) for worker in there], np.int64)
    begins = ceil_to_second(np.array([worker.started for worker in there], np.int64))
    ends = ceil_to_second(np.array([data.ends(worker.id) for worker in there], np.int64))
    times = np.maximum(np.concatenate(([data.start], begins, ends)), data.start)
    changes = np.concatenate(([0], amounts, -amounts))
    order = np.argsort(times, kind="stable")
    times, totals = times[order], np.cumsum(changes[order])
    last = (np.diff(times, append=ENDLESS) > 0) & (times < data.stop)
    return Steps(keys_of(0, times[last], data.start), totals[last].astype(float))


def partners(subjects: Sequence[Subject], others: Sequence[Subject]) -> list[int]:
    """For each subject the index in `others` of the equal subject, or of the cluster; -1: none."""
    if len(others) == 1 and others[0] == CLUSTER:
        return [0] * len(subjects)
    places = {other: place for place, other in enumerate(others)}
    return [places.get(subject, -1) for subject in subjects]


def _with_all_workers(data: WindowData, condition: MetricCondition, curve: SubjectValues) -> SubjectValues:
    """Adds the workers without series of the metric: their data may be missing too."""
    if condition.by != By.WORKER:
        return curve
    matchers = [matcher for matcher in condition.selector.matchers if matcher.label == "worker"]
    known = {subject.worker_id for subject in curve.subjects}
    others = tuple(
        Subject(worker.id, labels)
        for worker in data.workers.values()
        if worker.id not in known and match_all(matchers, labels := {"worker": worker.name})
    )
    places = np.arange(len(curve.subjects), len(curve.subjects) + len(others))
    keys = np.concatenate((curve.steps.keys, keys_of(places, data.start, data.start)))
    values = np.concatenate((curve.steps.values, np.full(len(others), np.nan)))
    return SubjectValues(curve.subjects + others, Steps(keys, values))


def _where_missing(
    data: WindowData, condition: MetricCondition, curve: SubjectValues, truths: Steps, truth: Truth
) -> Steps:
    """Replaces the truths of subjects without data by `truth`, during their lifetime."""
    start, stop = data.start, data.stop
    begins = np.full(len(curve.subjects), start)
    if truth == Truth.TRUE:
        begins = _begins(data, condition, curve.subjects) + data.staleness(condition.selector.metric)
    ends = np.array([data.ends(subject.worker_id) for subject in curve.subjects], np.int64)
    places = np.arange(len(begins))
    begun, ended = (begins > start) & (begins < stop), (ends > start) & (ends < stop)
    keys = merged_keys(
        truths.keys,
        keys_of(places[begun], begins[begun], start),
        keys_of(places[ended], ends[ended], start),
    )
    times, groups = times_of(keys, start), groups_of(keys)
    is_there = (times >= begins[groups]) & (times < ends[groups])
    found = truths.at(keys)
    found[np.isnan(curve.steps.at(keys)) & is_there] = truth
    return Steps(keys, found)


def _begins(data: WindowData, condition: MetricCondition, subjects: Sequence[Subject]) -> Integers:
    """The beginning of each subject (microseconds): of its worker, its cluster, or its first sample."""
    if condition.by == By.CLUSTER:
        return np.array([data.began])
    if condition.by == By.WORKER:
        return np.array([data.workers[subject.worker_id or 0].started for subject in subjects], np.int64)
    return data.firsts(condition.selector)
