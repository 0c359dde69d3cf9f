"""Series of metrics in bins, and which times their values are of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
import psycopg

from observatory.store.queries.windows import findings as store
from observatory.why.intervals import Flags, Integers, Intervals, Numbers

TICK = 0.02
"""seconds between two ticks of an event loop that isn't busy (Server._tick_interval)"""
MOST_SAMPLES = 100_000
LONGEST = 10_000_000
"""microseconds before a sample, for which its value holds where there is none before it"""


@dataclass(frozen=True, slots=True)
class Samples:
    """A series in bins of equal width. `worker` is 0 where the series isn't of one."""

    worker: Integers
    times: Intervals
    """each from the end of the sample before it, but at most LONGEST, until the end of its own bin"""
    value: Numbers


@dataclass(frozen=True, slots=True)
class LabelledSamples:
    """In order of time."""

    time: Numbers
    """seconds"""
    value: Numbers


def read_samples(
    connection: psycopg.Connection,
    cluster: int,
    metric: str,
    window: tuple[int, int],
    value: str = "",
    function: str = "mean",
    label: str = "type",
) -> Samples:
    """The mean or the maximum (`function`) of a metric in each bin of a window (microseconds).

    `value`: of the label, where only series with it are wanted.
    """
    start, stop = window
    found = store.binned_series(connection, cluster, metric, start, stop, value, function, label)
    worker, bin = (found[name].astype(np.int64) for name in ("worker", "bin"))
    return samples_of(worker, bin, found["value"], start, (stop - start) / store.BINS)


def read_labelled(
    connection: psycopg.Connection, cluster: int, metric: str, label: str, window: tuple[int, int]
) -> dict[str, LabelledSamples]:
    """The samples of a metric in a window (microseconds) by a label, as they are stored."""
    rows = store.labelled_samples(connection, cluster, metric, label, *window, MOST_SAMPLES)
    found = {}
    for name, some in groupby(rows, itemgetter(0)):
        _, times, values = zip(*some, strict=True)
        found[name] = LabelledSamples(np.array(times), np.array(values))
    return found


def samples_of(worker: Integers, bin: Integers, value: Numbers, start: int, width: float) -> Samples:
    """Return the values of bins from `start` (microseconds) on, which are sorted by worker and bin."""
    stop = np.round(start + (bin + 1) * width).astype(np.int64)
    before = np.concatenate([[start], stop[:-1]]).astype(np.int64)
    is_first = np.concatenate([[True], worker[1:] != worker[:-1]])[: len(worker)]
    begin = np.where(is_first, start, before[: len(worker)])
    return Samples(worker, Intervals.of(np.maximum(begin, stop - LONGEST), stop), value)


def blocked_seconds(intervals: Samples, is_wanted: Flags) -> float:
    """How long an event loop did nothing else in some samples of the mean seconds between its ticks."""
    times = intervals.times.where(np.flatnonzero(is_wanted))
    share = 1 - TICK / np.maximum(intervals.value[is_wanted], TICK)
    return float(((times.stop - times.start) * share).sum()) / 1e6


def values_at(samples: Samples, other: Samples) -> Numbers:
    """The value of `other` of the worker and time of each of `samples`; 0 where there is none."""
    known = {
        (worker, stop): value
        for worker, stop, value in zip(
            other.worker.tolist(), other.times.stop.tolist(), other.value.tolist(), strict=True
        )
    }
    places = zip(samples.worker.tolist(), samples.times.stop.tolist(), strict=True)
    return np.array([known.get(place, 0.0) for place in places], np.float64)
