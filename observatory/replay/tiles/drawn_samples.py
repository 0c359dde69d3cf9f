"""Reads samples as they are drawn: counters as rates."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.tiles.bins import Integers, rates
from observatory.store.queries import timeline
from observatory.store.series.counters import MAXIMUM_GAP, Floats
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.records import MetricType


def drawn_samples(
    connection: psycopg.Connection,
    scope: Scope,
    found: Sequence[timeline.LayerSeries | timeline.WorkerSeries],
    start: int,
    stop: int,
) -> tuple[Integers, Integers, Floats]:
    """Return series, time (microseconds) and value of the samples of `found` until `stop`, sorted.

    The first rate of a counter needs the sample before it, so some samples are from before `start`. Unknown
    rates are NaN. `found` is sorted by id.
    """
    cluster = scope.cluster
    intervals = _intervals(scope)
    numbers = np.array([series.id for series in found], np.int64)
    usual = np.array([intervals.of(series.metric) for series in found], np.float64)
    is_counter = np.array([series.type == MetricType.COUNTER for series in found], bool)
    before = time_before(scope, {series.metric for series in found})
    rows = timeline.samples(connection, cluster.pk, numbers.tolist(), max(scope.start, start - before), stop)
    series, time, value = rows["series"], rows["time"], rows["value"]
    at = np.searchsorted(numbers, series)
    return series, time, np.where(is_counter[at], rates(series, time, value, usual[at]), value)


def time_before(scope: Scope, metrics: Collection[str]) -> int:
    """Return how long before a time the sample before it can be, for a rate (microseconds)."""
    intervals = _intervals(scope)
    return int(MAXIMUM_GAP * max(map(intervals.of, metrics), default=0) * 1e6)


def _intervals(scope: Scope) -> SampleIntervals:
    return SampleIntervals(scope.cluster.identity_interval, scope.cluster.metrics_interval)
