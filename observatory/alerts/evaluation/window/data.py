"""The stored data of a cluster for a window, read once for all rules that are evaluated over it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import psycopg

from observatory.alerts.evaluation.window.event_data import EventData, load_events
from observatory.alerts.evaluation.window.run_data import RunData, load_runs
from observatory.alerts.evaluation.window.samples import ENDLESS, MetricSamples, Series
from observatory.alerts.evaluation.window.steps import (
    HALF,
    SECOND,
    Array,
    Floats,
    Integers,
    groups_of,
    keys_of,
    merged_keys,
    times_of,
)
from observatory.alerts.rules.conditions import (
    AnyCondition,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.queries.alerts.series import (
    SeriesWindow,
    StoredSeries,
    WorkerLifetime,
    last_samples_within,
    samples_within,
    series_within,
    workers_within,
)
from observatory.store.queries.extents import Extent
from observatory.store.series.sample_intervals import ALWAYS_SENT, SENT_ON_CHANGE, SampleIntervals

MIN_STALENESS = 15.0
"""seconds"""
MISSED_INTERVALS = 3
"""sampling intervals without a sample after which data is missing"""


Columns = Mapping[str, Array]
"""the columns of samples: series, time, value"""
ReadSamples = Callable[[psycopg.Connection, Sequence[SeriesWindow]], Columns]


class WindowData:
    """The data of one cluster for the window [start, stop), in seconds on its scheduler's clock.

    Data that was read is kept. `load` reads what several rules need in a few queries.
    """

    def __init__(
        self,
        connection: psycopg.Connection,
        cluster: Cluster,
        start: float,
        stop: float,
        read_samples: ReadSamples = samples_within,
    ) -> None:
        """`read_samples`: another way to the samples of series in their windows, where they are archived."""
        self.connection = connection
        self.cluster = cluster
        self.read_samples = read_samples
        self.start, self.stop = round(start * SECOND), round(stop * SECOND)
        """microseconds"""
        if not self.start < self.stop <= self.start + HALF:
            raise ValueError("a window is longer than 0 and at most 50 days")
        self.cache: dict[Hashable, Any] = {}
        """intermediate results that rules share"""
        self.loaded: set[RuleSpec] = set()
        """rules whose events and samples have all been read"""
        self.extent: Extent | None = None
        """of the cluster, if it is known"""
        self.events = EventData(cluster.pk, self.start, self.stop)
        self.runs = RunData(cluster.pk, self.start, self.stop)
        self._workers: dict[int, WorkerLifetime] | None = None
        self._samples_of: dict[str, MetricSamples] = {}
        self._since: dict[str, int] = {}
        """for each metric, the time from which on its samples have been read"""
        self._with_earlier: dict[tuple[str, int], Array] = {}
        """by metric and time from which on its samples have been read: the series with some before it"""
        self._intervals = SampleIntervals(cluster.identity_interval, cluster.metrics_interval)

    @property
    def began(self) -> int:
        return round(self.cluster.started.timestamp() * SECOND)

    @property
    def oldest(self) -> int:
        """The time before which nothing matters: the start of its first worker, as far as these are read."""
        if self._workers is None:
            return self.began
        return min((worker.started for worker in self._workers.values()), default=self.began)

    @property
    def ended(self) -> int:
        """The end of the cluster; ENDLESS: it is live."""
        return round(self.cluster.ended.timestamp() * SECOND) if self.cluster.ended else ENDLESS

    @property
    def workers(self) -> dict[int, WorkerLifetime]:
        """By id, the workers of the window and of the second before it."""
        if self._workers is None:
            _read_workers(self.connection, [self])
        assert self._workers is not None
        return self._workers

    def staleness(self, metric: str) -> int:
        """Microseconds for which a sample of the metric is valid."""
        if metric in SENT_ON_CHANGE:
            metric = ALWAYS_SENT
        return round(max(MIN_STALENESS, MISSED_INTERVALS * self._intervals.of(metric)) * SECOND)

    def ends(self, worker: int | None) -> int:
        """The end of a worker or its cluster (None: of the cluster); ENDLESS: it is live."""
        if worker is None:
            return self.ended
        lifetime = self.workers.get(worker)
        if lifetime is None:
            return self.start
        return min(self.ended, ENDLESS if lifetime.ended is None else lifetime.ended)

    def load(self, specs: Iterable[RuleSpec]) -> None:
        """Reads the events and samples that `specs` need and that haven't been read yet."""
        if unread := [spec for spec in specs if spec not in self.loaded]:
            load_together(self.connection, [(self, unread)])

    def samples(self, metric: str) -> MetricSamples:
        """The loaded samples of a metric."""
        return self._samples_of[metric]

    def firsts(self, selector: Selector) -> Integers:
        """The time of the first sample of each of a selector's series, in microseconds.

        ENDLESS for a series without samples before the window's end. For samples before the read range, its
        start.
        """
        samples = self.samples(selector.metric).matching(selector)
        since = self._since[selector.metric]
        firsts = np.full(len(samples.series), ENDLESS)
        np.minimum.at(firsts, samples.of, samples.times)
        ids = [series.stored.id for series in samples.series]
        firsts[np.isin(ids, self._with_earlier[selector.metric, since])] = since
        # leaves room for adding seconds
        return np.asarray(np.minimum(firsts, ENDLESS // 2))

    def wanted(self, conditions: Iterable[AnyCondition]) -> Iterator[tuple[str, int]]:
        """(metric, time from which on its samples are needed)"""
        for condition in conditions:
            if not isinstance(condition, MetricCondition):
                continue
            for selector in (condition.selector, condition.other):
                if isinstance(selector, Selector):
                    yield selector.metric, self._since_of(selector)
                    if selector.metric in SENT_ON_CHANGE:
                        yield ALWAYS_SENT, self._since_of(selector)

    def _since_of(self, selector: Selector) -> int:
        # the value at the start, and the one a window before it, are up to `staleness` older
        staleness = self.staleness(selector.metric) + SECOND
        if selector.function == Function.VALUE:
            return self.start - staleness
        return self.start - 2 * staleness - round(selector.window * SECOND)

    def unread(self, conditions: Iterable[AnyCondition]) -> dict[str, int]:
        """For each metric that has to be read, the time from which on."""
        unread: dict[str, int] = {}
        for metric, since in self.wanted(conditions):
            if since < min(unread.get(metric, ENDLESS), self._since.get(metric, ENDLESS)):
                unread[metric] = since
        return unread

    def unknown_firsts(self, specs: Iterable[RuleSpec]) -> Iterator[SeriesWindow]:
        """The times before the samples that were read, of series whose first sample matters."""
        for spec in specs:
            for condition in spec.conditions:
                if not isinstance(condition, MetricCondition) or not needs_firsts(spec, condition):
                    continue
                metric = condition.selector.metric
                since = self._since[metric]
                if (metric, since) in self._with_earlier:
                    continue
                self._with_earlier[metric, since] = np.empty(0, np.int32)
                for series in self._samples_of[metric].series:
                    yield SeriesWindow(series.stored.id, self.cluster.pk, self.began, since)

    def keep_earlier(self, series: Array) -> None:
        """Keeps which series have samples before those that were read, of all that were asked for."""
        for key in self._with_earlier:
            self._with_earlier[key] = np.union1d(self._with_earlier[key], series)

    def keep(self, wanted: Mapping[str, int], found: Sequence[StoredSeries], columns: Columns) -> None:
        """Keeps the samples of the series that were `found`, by metric, of the metrics `wanted`."""
        self._since |= wanted
        of, times, values = _ordered(found, columns)
        first = 0
        by_metric = {metric: list(group) for metric, group in groupby(found, key=attrgetter("metric"))}
        for metric in sorted(wanted):
            group = by_metric.get(metric, [])
            begin, end = np.searchsorted(of, [first, first + len(group)])
            self._samples_of[metric] = MetricSamples(
                tuple(Series(each, self._labels(each), self.ends(each.worker)) for each in group),
                of[begin:end] - first,
                times[begin:end],
                values[begin:end],
                self.staleness(metric),
            )
            first += len(group)
        for metric in wanted.keys() & SENT_ON_CHANGE:
            self._samples_of[metric] = _repeat_unchanged(
                self._samples_of[metric], self._samples_of[ALWAYS_SENT], self.start
            )

    def _labels(self, series: StoredSeries) -> dict[str, str]:
        labels = {name: str(value) for name, value in series.labels.items()}
        if series.worker is not None:
            if "worker" in labels:
                labels["exported_worker"] = labels["worker"]
            labels["worker"] = self.workers[series.worker].name
        return labels


def load_together(
    connection: psycopg.Connection, windows: Iterable[tuple[WindowData, Iterable[RuleSpec]]]
) -> None:
    """Reads what the specs of each window need and hasn't been read yet: with one query a table for all.

    The windows are of different clusters.
    """
    of = {data: list(specs) for data, specs in windows}
    needed = [(data, [each for spec in specs for each in spec.conditions]) for data, specs in of.items()]
    wanted = {data: unread for data, conditions in needed if (unread := data.unread(conditions))}
    on_events = [
        (data, events)
        for data, conditions in needed
        if (events := [each for each in conditions if isinstance(each, EventCondition)])
    ]
    lasting = [data for data, events in on_events if data.events.needs_workers(events)]
    _read_workers(connection, [data for data in {*wanted, *lasting} if data._workers is None])
    load_events(connection, [(data.events, events, data.oldest) for data, events in on_events])
    load_runs(connection, [(data.runs, conditions) for data, conditions in needed])
    if wanted:
        series = _read_series(connection, wanted)
        columns = _read_samples(connection, wanted, series)
        for data, metrics in wanted.items():
            data.keep(metrics, series[data], columns[data])
    if before := [each for data, specs in of.items() for each in data.unknown_firsts(specs)]:
        earlier = last_samples_within(connection, before)["series"]
        for data in of:
            data.keep_earlier(earlier)
    for data, specs in of.items():
        data.loaded.update(specs)


def needs_firsts(spec: RuleSpec, condition: MetricCondition) -> bool:
    """Whether missing data makes the condition true of a series, which begins with its first sample."""
    is_true = spec.no_data is NoData.FIRE or condition.comparison is Comparison.ABSENT
    return is_true and condition.by is By.SERIES


def _read_workers(connection: psycopg.Connection, windows: Sequence[WindowData]) -> None:
    asked = {data.cluster.pk: (data.start - SECOND, data.stop) for data in windows}
    found = workers_within(connection, asked) if asked else {}
    for data in windows:
        data._workers = {worker.id: worker for worker in found[data.cluster.pk]}


def _read_series(
    connection: psycopg.Connection, wanted: Mapping[WindowData, Mapping[str, int]]
) -> dict[WindowData, list[StoredSeries]]:
    metrics = sorted({metric for metrics in wanted.values() for metric in metrics})
    windows = {data.cluster.pk: (data.start - SECOND, data.stop) for data in wanted}
    found = series_within(connection, windows, metrics)
    return {
        data: [
            series
            for series in found[data.cluster.pk]
            # a worker that joined after the workers were read has no data in the window
            if series.metric in metrics and (series.worker is None or series.worker in data.workers)
        ]
        for data, metrics in wanted.items()
    }


def _read_samples(
    connection: psycopg.Connection,
    wanted: Mapping[WindowData, Mapping[str, int]],
    series: Mapping[WindowData, Sequence[StoredSeries]],
) -> dict[WindowData, Columns]:
    within, before, oldest = [], [], {}
    for data, metrics in wanted.items():
        cluster, kept = data.cluster.pk, SENT_ON_CHANGE.intersection(metrics)
        earliest = min((metrics[metric] for metric in kept), default=0) - 1
        for each in series[data]:
            since = metrics[each.metric]
            within.append(SeriesWindow(each.id, cluster, since, data.stop))
            if each.metric in kept:
                before.append(SeriesWindow(each.id, cluster, data.began, since))
                oldest[each.id] = earliest
    # only a window that is loaded alone has a way of its own
    read = next(iter(wanted)).read_samples if len(wanted) == 1 else samples_within
    columns = [read(connection, within)]
    if before:
        # their value is still valid, however old it is
        last = last_samples_within(connection, before)
        least = np.array([oldest[id] for id in last["series"].tolist()], np.int64)
        columns.append({**last, "time": np.maximum(last["time"], least)})
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    return _of_each(list(wanted), series, joined)


def _of_each(
    windows: Sequence[WindowData], series: Mapping[WindowData, Sequence[StoredSeries]], columns: Columns
) -> dict[WindowData, Columns]:
    """The rows of each window's series."""
    if len(windows) == 1:
        return {windows[0]: columns}
    every = [each for data in windows for each in series[data]]
    ends = np.cumsum([len(series[data]) for data in windows])
    places = _places(every, columns["series"])
    order = np.argsort(places, kind="stable")
    cuts = np.searchsorted(places[order], ends[:-1])
    split = {name: np.split(values[order], cuts) for name, values in columns.items()}
    return {data: {name: split[name][place] for name in split} for place, data in enumerate(windows)}


def _places(found: Sequence[StoredSeries], series: Array) -> Array:
    """The index in `found` of each series id."""
    ids = np.array([each.id for each in found], np.int64)
    by_id = np.argsort(ids)
    return by_id[np.searchsorted(ids, series, sorter=by_id)] if len(ids) else np.empty(0, np.int64)


def _ordered(found: Sequence[StoredSeries], columns: Columns) -> tuple[Integers, Integers, Floats]:
    """The samples as columns: index in `found`, time, value. Sorted; times of a series are unique."""
    of, times, values = _places(found, columns["series"]), columns["time"], columns["value"]
    order = np.lexsort((values, times, of))
    of, times, values = of[order], times[order], values[order]
    # of several samples at one time the greatest is used
    once = np.ones(len(of), bool)
    once[:-1] = (of[1:] != of[:-1]) | (times[1:] != times[:-1])
    return of[once], times[once], values[once]


def _repeat_unchanged(samples: MetricSamples, always: MetricSamples, start: int) -> MetricSamples:
    """The samples of a metric that is sent on change, repeated whenever `always` has a sample."""
    pulses = np.unique(always.times)
    places = np.arange(len(samples.series))
    sent = keys_of(samples.of, samples.times, start)
    every = merged_keys(sent, keys_of(np.repeat(places, len(pulses)), np.tile(pulses, len(places)), start))
    last = np.searchsorted(sent, every, side="right") - 1
    of = groups_of(every)
    known = (last >= 0) & (samples.of[last] == of) if len(sent) else np.zeros(len(every), bool)
    return MetricSamples(
        samples.series,
        of[known],
        times_of(every[known], start),
        samples.values[last[known]],
        samples.staleness,
    )
