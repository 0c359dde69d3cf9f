"""Durations of spans from their sums by bucket: number, extremes, and quantiles within one percent.

The buckets are those of a sketch of relative accuracy, as DDSketch has them, and of each its shortest and its
longest span are known. So extremes are exact, and so are quantiles of buckets with one or two spans.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np

from observatory.store.queries.sums.span_sums import BUCKETS_OF_AN_OCTAVE
from observatory.store.queries.sums.sum_layer import Columns

QUANTILES = {"median": 0.5, "p95": 0.95}
BARS_OF_AN_OCTAVE = 4
"""of a histogram"""
BUCKETS_OF_A_BAR = BUCKETS_OF_AN_OCTAVE // BARS_OF_AN_OCTAVE

Item = dict[str, Any]


def durations_of(rows: Columns) -> Item:
    """Return number, shortest, quantiles, longest and histogram; None in place of durations without spans.

    `rows` are sums by bucket, of which several can have the same.
    """
    found: Item = {"tasks": float(rows["count"].sum())}
    ended = rows["count"] > 0
    if not ended.any():
        return {**found, **dict.fromkeys(("shortest", *QUANTILES, "longest")), "histogram": []}
    buckets, places = np.unique(rows["bucket"][ended], return_inverse=True)
    counts = np.bincount(places, rows["count"][ended])
    shortest, longest = np.full(len(buckets), np.inf), np.zeros(len(buckets))
    np.minimum.at(shortest, places, rows["shortest"][ended])
    np.maximum.at(longest, places, rows["longest"][ended])
    bars: defaultdict[int, float] = defaultdict(float)
    for bucket, count in zip(buckets.tolist(), counts.tolist(), strict=True):
        bars[bucket // BUCKETS_OF_A_BAR] += count
    return {
        **found,
        "shortest": float(shortest.min()),
        **{name: quantile(counts, shortest, longest, share) for name, share in QUANTILES.items()},
        "longest": float(longest.max()),
        "histogram": [[bar, count] for bar, count in bars.items()],
    }


def quantile(counts: Any, shortest: Any, longest: Any, share: float) -> float:
    """Return a quantile (seconds), interpolated between two durations as `numpy.quantile` does.

    `counts`, `shortest` and `longest` are of the buckets in the order of their durations.
    """
    reached = np.cumsum(counts)
    place = share * (float(reached[-1]) - 1)
    below, above = (_at(reached, shortest, longest, rank) for rank in (math.floor(place), math.ceil(place)))
    return below + (above - below) * (place - math.floor(place))


def _at(reached: Any, shortest: Any, longest: Any, rank: int) -> float:
    """Return the duration of a rank (0: the shortest): of its bucket an extreme, or the middle of both."""
    bucket = int(np.searchsorted(reached, rank, side="right"))
    first = float(reached[bucket - 1]) if bucket else 0.0
    if rank <= first:
        return float(shortest[bucket])
    if rank >= float(reached[bucket]) - 1:
        return float(longest[bucket])
    return float(shortest[bucket] + longest[bucket]) / 2
