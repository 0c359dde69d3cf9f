"""What the store has of a cluster for the rules that are judged over a window, read once for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import psycopg

from observatory.alerts.judging.happened import HappenedReadings
from observatory.alerts.judging.measured import ENDLESS, Measured, Series
from observatory.alerts.judging.steps import (
    HALF,
    SECOND,
    Array,
    Floats,
    Integers,
    groups_of,
    joined,
    keys_of,
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
from observatory.store.ingest.intervals import ALWAYS_SENT, SENT_ON_CHANGE, Intervals
from observatory.store.queries.alert_series import (
    StoredSeries,
    WorkerLifetime,
    samples_before,
    samples_since,
    series_within,
    workers_within,
)

SHORTEST_STALE = 15.0
"""seconds"""
MISSED = 3
"""intervals without a sample after which there is no data"""


class Readings:
    """Of one cluster and the window [start, stop), in seconds on its scheduler's clock.

    What is read is kept for all rules that are judged by it. `load` reads at once what several rules need.
    """

    def __init__(self, connection: psycopg.Connection, cluster: Cluster, start: float, stop: float) -> None:
        self.connection = connection
        self.cluster = cluster
        self.start, self.stop = round(start * SECOND), round(stop * SECOND)
        """microseconds"""
        if not self.start < self.stop <= self.start + HALF:
            raise ValueError("a window lasts for more than nothing, and 50 days at most")
        self.cache: dict[Hashable, Any] = {}
        """what judging made of what was read, by what it is"""
        self.happened = HappenedReadings(connection, cluster.pk, self.start, self.stop)
        self._measured: dict[str, Measured] = {}
        self._since: dict[str, int] = {}
        """by metric, since when its samples are read"""
        self._intervals = Intervals(cluster.identity_interval, cluster.metrics_interval)

    @property
    def began(self) -> int:
        return round(self.cluster.started.timestamp() * SECOND)

    @property
    def ended(self) -> int:
        """When the cluster ended; ENDLESS: it lives."""
        return round(self.cluster.ended.timestamp() * SECOND) if self.cluster.ended else ENDLESS

    @cached_property
    def workers(self) -> dict[int, WorkerLifetime]:
        """Those that are there in the window, or were in the second before it, by id."""
        found = workers_within(self.connection, self.cluster.pk, self.start - SECOND, self.stop)
        return {worker.id: worker for worker in found}

    def stale(self, metric: str) -> int:
        """Microseconds that a sample of the metric holds."""
        if metric in SENT_ON_CHANGE:
            metric = ALWAYS_SENT
        return round(max(SHORTEST_STALE, MISSED * self._intervals.of(metric)) * SECOND)

    def ends(self, worker: int | None) -> int:
        """When what is of a worker (None: of the cluster) ended, or its cluster did; ENDLESS: it lives."""
        if worker is None:
            return self.ended
        lifetime = self.workers.get(worker)
        if lifetime is None:
            return self.start
        return min(self.ended, ENDLESS if lifetime.ended is None else lifetime.ended)

    def load(self, specs: Iterable[RuleSpec]) -> None:
        """Reads the samples that judging `specs` takes, as far as they aren't there yet."""
        conditions = [condition for spec in specs for condition in spec.conditions]
        self.happened.load([each for each in conditions if isinstance(each, EventCondition)])
        wanted: dict[str, int] = {}
        for metric, since in self._wanted(conditions):
            if since < min(wanted.get(metric, ENDLESS), self._since.get(metric, ENDLESS)):
                wanted[metric] = since
        if wanted:
            self._since |= wanted
            self._read(wanted)

    def measured(self, metric: str) -> Measured:
        """What `load` has read of a metric."""
        return self._measured[metric]

    def firsts(self, selector: Selector) -> Integers:
        """When the first sample of each of a selector's series was, in microseconds.

        ENDLESS where it has none before the stop; long before the start where that's all that matters.
        """
        measured = self.measured(selector.metric).matching(selector)
        since = self._since[selector.metric]
        firsts = np.full(len(measured.series), ENDLESS)
        np.minimum.at(firsts, measured.of, measured.times)
        starts = {series.stored.id: since for series in measured.series}
        before = samples_before(self.connection, self.cluster.pk, starts, self.began)["series"].tolist()
        earlier = np.isin([series.stored.id for series in measured.series], before)
        firsts[earlier] = since
        # so that seconds can be added
        return np.asarray(np.minimum(firsts, ENDLESS // 2))

    def _wanted(self, conditions: Iterable[AnyCondition]) -> Iterator[tuple[str, int]]:
        """(metric, since when its samples are needed)"""
        for condition in conditions:
            if not isinstance(condition, MetricCondition):
                continue
            for selector in (condition.selector, condition.divisor):
                if isinstance(selector, Selector):
                    yield selector.metric, self._since_of(selector)
                    if selector.metric in SENT_ON_CHANGE:
                        yield ALWAYS_SENT, self._since_of(selector)

    def _since_of(self, selector: Selector) -> int:
        # what holds at the start was told `stale` before it, and so was what held a window before that
        stale = self.stale(selector.metric) + SECOND
        if selector.function == Function.VALUE:
            return self.start - stale
        return self.start - 2 * stale - round(selector.window * SECOND)

    def _read(self, wanted: dict[str, int]) -> None:
        cluster = self.cluster.pk
        found = [
            series
            for series in series_within(
                self.connection, cluster, sorted(wanted), self.start - SECOND, self.stop
            )
            # not of one that came since the workers were read, which has nothing in the window
            if series.worker is None or series.worker in self.workers
        ]
        of, times, values = self._samples(found, wanted)
        first = 0
        by_metric = {metric: list(group) for metric, group in groupby(found, key=attrgetter("metric"))}
        for metric in sorted(wanted):
            group = by_metric.get(metric, [])
            begin, end = np.searchsorted(of, [first, first + len(group)])
            self._measured[metric] = Measured(
                tuple(Series(each, self._labels(each), self.ends(each.worker)) for each in group),
                of[begin:end] - first,
                times[begin:end],
                values[begin:end],
                self.stale(metric),
            )
            first += len(group)
        for metric in wanted.keys() & SENT_ON_CHANGE:
            self._measured[metric] = _told_again(
                self._measured[metric], self._measured[ALWAYS_SENT], self.start
            )

    def _samples(
        self, found: Sequence[StoredSeries], wanted: Mapping[str, int]
    ) -> tuple[Integers, Integers, Floats]:
        """The places in `found`, times and values of their samples, in order, each time of a series once."""
        starts = {series.id: wanted[series.metric] for series in found}
        columns = [samples_since(self.connection, self.cluster.pk, starts, self.stop)]
        kept = {series.id: wanted[series.metric] for series in found if series.metric in SENT_ON_CHANGE}
        if kept:
            before = samples_before(self.connection, self.cluster.pk, kept, self.began)
            # however long ago: it is told again since
            columns.append({**before, "time": np.maximum(before["time"], min(kept.values()) - 1)})
        series, times, values = (
            np.concatenate([each[name] for each in columns]) for name in ("series", "time", "value")
        )
        of = _places(found, series)
        order = np.lexsort((values, times, of))
        of, times, values = of[order], times[order], values[order]
        # of several samples of one time the greatest counts
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
    """The place in `found` of the series of each id."""
    ids = np.array([each.id for each in found], np.int64)
    by_id = np.argsort(ids)
    return by_id[np.searchsorted(ids, series, sorter=by_id)] if len(ids) else np.empty(0, np.int64)


def _told_again(measured: Measured, always: Measured, start: int) -> Measured:
    """A metric that is told when it changes, as if it were told whenever `always` is."""
    pulses = np.unique(always.times)
    places = np.arange(len(measured.series))
    told = keys_of(measured.of, measured.times, start)
    every = joined(told, keys_of(np.repeat(places, len(pulses)), np.tile(pulses, len(places)), start))
    last = np.searchsorted(told, every, side="right") - 1
    of = groups_of(every)
    known = (last >= 0) & (measured.of[last] == of) if len(told) else np.zeros(len(every), bool)
    return Measured(
        measured.series,
        of[known],
        times_of(every[known], start),
        measured.values[last[known]],
        measured.stale,
    )
