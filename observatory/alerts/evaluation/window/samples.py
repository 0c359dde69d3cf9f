"""The samples of one metric in a window, and the values that they give at each instant.

**A series is a step function.** A sample's value is valid until the next sample of its series, but no longer
than the metric's staleness: three sampling intervals, at least 15 s. After that, and where a sample is NaN,
there is no data. A series ends with its worker or cluster.

**Counters that agents send only when they change** (`sample_intervals.py`) are treated as if they were sent
again, with the same value, whenever the cluster reports its threads. They end when the cluster is no longer
heard.

**Rate and change** are computed at each sample's time t and are valid as long as the sample. They start from
the value that the series had at t − window, or from its first sample after that. A single sample gives no
value. A counter that falls was reset to 0, as in Prometheus. The rate is the change divided by the seconds
between the two samples.

**Values over the whole cluster** change at whole seconds: a worker's sample counts from the next whole second
on, and so does its end. A thousand workers report at a thousand different times a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from observatory.alerts.evaluation.window.steps import SECOND, Array, Floats, Integers, keys_of
from observatory.alerts.rules.conditions import Function, Selector
from observatory.alerts.silences.matchers import match_all
from observatory.store.queries.alerts.series import StoredSeries
from observatory.wire.records import MetricType

ENDLESS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Series:
    stored: StoredSeries
    labels: Mapping[str, str]
    """including the worker's name"""
    ends: int
    """end of its worker or cluster, microseconds"""


@dataclass(frozen=True, slots=True)
class MetricSamples:
    """Series of a metric and their samples, in order of series and time; times of a series are unique."""

    series: tuple[Series, ...]
    of: Integers
    """for each sample the index of its series in `series`"""
    times: Integers
    """microseconds"""
    values: Floats
    staleness: int
    """microseconds that a sample is valid at most"""

    def matching(self, selector: Selector) -> MetricSamples:
        if not selector.matchers:
            return self
        fits = np.array([match_all(selector.matchers, series.labels) for series in self.series], bool)
        if fits.all():
            return self
        kept = fits[self.of]
        places = np.cumsum(fits) - 1
        return MetricSamples(
            tuple(series for series, fit in zip(self.series, fits.tolist(), strict=True) if fit),
            places[self.of[kept]],
            self.times[kept],
            self.values[kept],
            self.staleness,
        )


@dataclass(frozen=True, slots=True)
class SampleRanges:
    """The time ranges of a window in which series have a value, in order of series and time."""

    start: int
    stop: int
    """the window, microseconds"""
    of: Integers
    times: Integers
    until: Integers
    values: Floats

    def where(self, kept: Array) -> SampleRanges:
        of, times, until = self.of[kept], self.times[kept], self.until[kept]
        return SampleRanges(self.start, self.stop, of, times, until, self.values[kept])


def valid_ranges(
    samples: MetricSamples, selector: Selector, start: int, stop: int, in_whole_seconds: bool
) -> SampleRanges:
    """The values of the series in the window [start, stop) (microseconds)."""
    of, times, values = samples.of, samples.times, samples.values
    if selector.function != Function.VALUE:
        values = _changes(samples, selector, start)
    until = times + samples.staleness
    if len(of) > 1:
        until[:-1] = np.where(of[1:] == of[:-1], np.minimum(until[:-1], times[1:]), until[:-1])
    until = np.minimum(until, np.array([series.ends for series in samples.series], np.int64)[of])
    if in_whole_seconds:
        of_worker = np.array([series.stored.worker is not None for series in samples.series], bool)[of]
        times = np.where(of_worker, ceil_to_second(times), times)
        until = np.where(of_worker, ceil_to_second(until), until)
    times = np.maximum(times, start)
    kept = (until > times) & (times < stop) & ~np.isnan(values)
    return SampleRanges(start, stop, of, times, until, values).where(kept)


def ceil_to_second(times: Integers) -> Integers:
    """Rounds times (microseconds) up to whole seconds."""
    return -(-np.minimum(times, ENDLESS - SECOND) // SECOND) * SECOND


def _changes(samples: MetricSamples, selector: Selector, start: int) -> Floats:
    of, times, values = samples.of, samples.times, samples.values
    window = round(selector.window * SECOND)
    keys = keys_of(of, times, start)
    base = np.searchsorted(keys, keys - window, side="right") - 1
    is_there = (base >= 0) & (of[base] == of) & (times[base] >= times - window - samples.staleness)
    base = np.where(is_there, base, base + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        changes = values - values[base]
        types = np.array([series.stored.type for series in samples.series])
        _add_resets(samples, base, types[of] == MetricType.COUNTER, changes)
        if selector.function == Function.RATE:
            changes = changes / ((times - times[base]) / SECOND)
    changes[base >= np.arange(len(of))] = np.nan
    return changes


def _add_resets(samples: MetricSamples, base: Integers, is_counter: Array, changes: Floats) -> None:
    """Adds to counters' changes, in place, the values that they had before each reset to 0."""
    of, values = samples.of, samples.values
    is_reset = np.zeros(len(of), bool)
    is_reset[1:] = is_counter[1:] & (of[1:] == of[:-1]) & (values[1:] < values[:-1])
    if not is_reset.any():
        return
    resets = np.cumsum(is_reset)
    rows = np.flatnonzero(resets != resets[base])
    lost = np.zeros(len(of) + 1)
    lost[:-1][is_reset] = values[np.flatnonzero(is_reset) - 1]
    # sum each range by itself: a running sum would be rounded differently in another window
    bounds = np.column_stack((base[rows] + 1, rows + 1)).ravel()
    changes[rows] += np.add.reduceat(lost, bounds)[::2]
