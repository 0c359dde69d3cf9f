"""The stored data of a cluster for a window, read once for all rules that are evaluated over it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import psycopg

from observatory.alerts.evaluation.window.event_data import EventData
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
    EventCondition,
    Function,
    MetricCondition,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.queries.alerts.series import (
    StoredSeries,
    WorkerLifetime,
    samples_before,
    samples_since,
    series_within,
    workers_within,
)
from observatory.store.sample_intervals import ALWAYS_SENT, SENT_ON_CHANGE, SampleIntervals

MIN_STALENESS = 15.0
"""seconds"""
UNKNOWN_END = datetime.max.replace(tzinfo=UTC)
"""as the end of a run: it isn't known"""
MISSED_INTERVALS = 3
"""sampling intervals without a sample after which data is missing"""


class WindowData:
    """The data of one cluster for the window [start, stop), in seconds on its scheduler's clock.

    Data that was read is kept. `load` reads what several rules need in a few queries.
    """

    def __init__(self, connection: psycopg.Connection, cluster: Cluster, start: float, stop: float) -> None:
        self.connection = connection
        self.cluster = cluster
        self.start, self.stop = round(start * SECOND), round(stop * SECOND)
        """microseconds"""
        if not self.start < self.stop <= self.start + HALF:
            raise ValueError("a window is longer than 0 and at most 50 days")
        self.cache: dict[Hashable, Any] = {}
        """intermediate results that rules share"""
        self.last_run: datetime | None = UNKNOWN_END
        """the end of the newest run that ended and was counted, if that is known; None: there is none"""
        self.events = EventData(connection, cluster.pk, self.start, self.stop)
        self._samples_of: dict[str, MetricSamples] = {}
        self._since: dict[str, int] = {}
        """for each metric, the time from which on its samples have been read"""
        self._intervals = SampleIntervals(cluster.identity_interval, cluster.metrics_interval)

    @property
    def began(self) -> int:
        return round(self.cluster.started.timestamp() * SECOND)

    @property
    def ended(self) -> int:
        """The end of the cluster; ENDLESS: it is live."""
        return round(self.cluster.ended.timestamp() * SECOND) if self.cluster.ended else ENDLESS

    @cached_property
    def workers(self) -> dict[int, WorkerLifetime]:
        """By id, the workers of the window and of the second before it."""
        found = workers_within(self.connection, self.cluster.pk, self.start - SECOND, self.stop)
        return {worker.id: worker for worker in found}

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
        conditions = [condition for spec in specs for condition in spec.conditions]
        self.events.load([each for each in conditions if isinstance(each, EventCondition)])
        wanted: dict[str, int] = {}
        for metric, since in self.wanted(conditions):
            if since < min(wanted.get(metric, ENDLESS), self._since.get(metric, ENDLESS)):
                wanted[metric] = since
        if wanted:
            self._since |= wanted
            self._read(wanted)

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
        starts = {series.stored.id: since for series in samples.series}
        before = samples_before(self.connection, self.cluster.pk, starts, self.began)["series"].tolist()
        earlier = np.isin([series.stored.id for series in samples.series], before)
        firsts[earlier] = since
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

    def _read(self, wanted: dict[str, int]) -> None:
        cluster = self.cluster.pk
        found = [
            series
            for series in series_within(
                self.connection, cluster, sorted(wanted), self.start - SECOND, self.stop
            )
            # a worker that joined after the workers were read has no data in the window
            if series.worker is None or series.worker in self.workers
        ]
        of, times, values = self._samples(found, wanted)
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

    def _samples(
        self, found: Sequence[StoredSeries], wanted: Mapping[str, int]
    ) -> tuple[Integers, Integers, Floats]:
        """The samples as columns: index in `found`, time, value. Sorted; times of a series are unique."""
        starts = {series.id: wanted[series.metric] for series in found}
        columns = [samples_since(self.connection, self.cluster.pk, starts, self.stop)]
        kept = {series.id: wanted[series.metric] for series in found if series.metric in SENT_ON_CHANGE}
        if kept:
            before = samples_before(self.connection, self.cluster.pk, kept, self.began)
            # its value is still valid, however old it is
            columns.append({**before, "time": np.maximum(before["time"], min(kept.values()) - 1)})
        series, times, values = (
            np.concatenate([each[name] for each in columns]) for name in ("series", "time", "value")
        )
        of = _places(found, series)
        order = np.lexsort((values, times, of))
        of, times, values = of[order], times[order], values[order]
        # of several samples at one time the greatest is used
        once = np.ones(len(of), bool)
        once[:-1] = (of[1:] != of[:-1]) | (times[1:] != times[:-1])
        return of[once], times[once], values[once]

    def _labels(self, series: StoredSeries) -> dict[str, str]:
        labels = {name: str(value) for name, value in series.labels.items()}
        if series.worker is not None:
            if "worker" in labels:
                labels["exported_worker"] = labels["worker"]
            labels["worker"] = self.workers[series.worker].name
        return labels


def _places(found: Sequence[StoredSeries], series: Array) -> Array:
    """The index in `found` of each series id."""
    ids = np.array([each.id for each in found], np.int64)
    by_id = np.argsort(ids)
    return by_id[np.searchsorted(ids, series, sorter=by_id)] if len(ids) else np.empty(0, np.int64)


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
