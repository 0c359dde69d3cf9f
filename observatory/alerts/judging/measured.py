"""The series of one metric with their samples, as Readings hold them, and what they tell of an instant.

**A series is a step function.** A sample's value holds until the next sample of its series, at most for the
metric's `stale` seconds: three of the intervals in which it is told, at least 15 s. After that, and where a
sample is NaN, there is no data. It ends with the worker, or the cluster, that it is of.

**Counters that are told only when they change** (`intervals.py`) count as told again, with the value that
they had, whenever the cluster tells how many threads it has: they end when the cluster isn't heard any more.

**Rate and change** are of a sample's own time t, and hold as its value would. They are taken from the value
that the series had at t − window; where it had none then, from its first sample after that. One sample alone
tells nothing. Counters that fall began again at 0, as in Prometheus. The rate is the change by the seconds
between the two samples.

**The whole cluster** is judged at whole seconds: a worker's sample counts from the next whole second on, and
so does its end. A thousand workers tell at a thousand different times a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from observatory.alerts.judging.steps import SECOND, Array, Floats, Integers, keys_of
from observatory.alerts.rules.conditions import Function, Selector
from observatory.alerts.silences.matchers import match_all
from observatory.store.queries.alert_series import StoredSeries
from observatory.wire.records import MetricType

ENDLESS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Series:
    stored: StoredSeries
    labels: Mapping[str, str]
    """with its worker's name"""
    ends: int
    """when its worker or cluster ended, microseconds"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Some series of a metric, and their samples in order of series and time, each time once."""

    series: tuple[Series, ...]
    of: Integers
    """the series of each sample, by its place in `series`"""
    times: Integers
    """microseconds"""
    values: Floats
    stale: int
    """microseconds"""

    def matching(self, selector: Selector) -> Measured:
        if not selector.matchers:
            return self
        fits = np.array([match_all(selector.matchers, series.labels) for series in self.series], bool)
        if fits.all():
            return self
        kept = fits[self.of]
        places = np.cumsum(fits) - 1
        return Measured(
            tuple(series for series, fit in zip(self.series, fits.tolist(), strict=True) if fit),
            places[self.of[kept]],
            self.times[kept],
            self.values[kept],
            self.stale,
        )


@dataclass(frozen=True, slots=True)
class Held:
    """Stretches of a window in which series have a value, in order of series and time."""

    start: int
    stop: int
    """the window, microseconds"""
    of: Integers
    times: Integers
    until: Integers
    values: Floats

    def where(self, kept: Array) -> Held:
        of, times, until = self.of[kept], self.times[kept], self.until[kept]
        return Held(self.start, self.stop, of, times, until, self.values[kept])


def held(measured: Measured, selector: Selector, start: int, stop: int, whole_seconds: bool) -> Held:
    """What the series of `measured` have in the window [start, stop) (microseconds)."""
    of, times, values = measured.of, measured.times, measured.values
    if selector.function != Function.VALUE:
        values = _changes(measured, selector, start)
    until = times + measured.stale
    if len(of) > 1:
        until[:-1] = np.where(of[1:] == of[:-1], np.minimum(until[:-1], times[1:]), until[:-1])
    until = np.minimum(until, np.array([series.ends for series in measured.series], np.int64)[of])
    if whole_seconds:
        of_worker = np.array([series.stored.worker is not None for series in measured.series], bool)[of]
        times = np.where(of_worker, whole(times), times)
        until = np.where(of_worker, whole(until), until)
    times = np.maximum(times, start)
    kept = (until > times) & (times < stop) & ~np.isnan(values)
    return Held(start, stop, of, times, until, values).where(kept)


def whole(times: Integers) -> Integers:
    """The next whole seconds; those that are whole stay."""
    return -(-np.minimum(times, ENDLESS - SECOND) // SECOND) * SECOND


def _changes(measured: Measured, selector: Selector, start: int) -> Floats:
    of, times, values = measured.of, measured.times, measured.values
    window = round(selector.window * SECOND)
    keys = keys_of(of, times, start)
    base = np.searchsorted(keys, keys - window, side="right") - 1
    is_there = (base >= 0) & (of[base] == of) & (times[base] >= times - window - measured.stale)
    base = np.where(is_there, base, base + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        changes = values - values[base]
        types = np.array([series.stored.type for series in measured.series])
        _begun_again(measured, base, types[of] == MetricType.COUNTER, changes)
        if selector.function == Function.RATE:
            changes = changes / ((times - times[base]) / SECOND)
    changes[base >= np.arange(len(of))] = np.nan
    return changes


def _begun_again(measured: Measured, base: Integers, is_counter: Array, changes: Floats) -> None:
    """Adds to the changes of counters, in place, what they had reached before they began again at 0."""
    of, values = measured.of, measured.values
    fell = np.zeros(len(of), bool)
    fell[1:] = is_counter[1:] & (of[1:] == of[:-1]) & (values[1:] < values[:-1])
    if not fell.any():
        return
    times_fallen = np.cumsum(fell)
    rows = np.flatnonzero(times_fallen != times_fallen[base])
    lost = np.zeros(len(of) + 1)
    lost[:-1][fell] = values[np.flatnonzero(fell) - 1]
    # each sum over its own samples alone: a running one would be rounded differently in another window
    ranges = np.column_stack((base[rows] + 1, rows + 1)).ravel()
    changes[rows] += np.add.reduceat(lost, ranges)[::2]
