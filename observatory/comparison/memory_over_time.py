"""Memory of runs over time, in bins of the same width since each run's start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
import psycopg

from observatory.comparison.run_summary import RunWindow
from observatory.comparison.significance import Floats
from observatory.store.queries.windows.comparison import memory_by_bin, worker_memory_by_bin

BINS = 400
SHORTEST_BIN = 0.5
"""seconds: workers report their memory at most once a second"""
STALE_AFTER = 15.0
"""seconds that the last known memory stays valid"""

Measure = Literal["process", "managed", "unmanaged", "spilled"]
"""of memory, as in the labels of its metrics; distributed's MemorySampler has the same"""

Line = list[float | None]
"""bytes in each bin; None: not known"""


class MemoryLines(TypedDict):
    width: float
    """of a bin, in seconds"""
    lines: list[Line]


def memory_over_time(
    connection: psycopg.Connection, windows: Sequence[RunWindow], measure: Measure = "process"
) -> MemoryLines:
    """The most memory of all workers together in each bin of each window."""
    longest = max((window.seconds for window in windows), default=0.0)
    width = max(longest / BINS, SHORTEST_BIN)
    lines = []
    for window in windows:
        bins = max(1, math.ceil(window.seconds / width))
        known = memory_by_bin(connection, window.cluster, window.start, window.stop, measure, width, bins)
        lines.append(_held(known, valid_bins=math.ceil(STALE_AFTER / width)))
    return {"width": width, "lines": lines}


def worker_memory_over_time(
    connection: psycopg.Connection, window: RunWindow, groups: Sequence[Sequence[int]]
) -> MemoryLines:
    """The memory of the process of a worker of each group (ids), in the mean, in each bin of the window."""
    width = max(window.seconds / BINS, SHORTEST_BIN)
    bins = max(1, math.ceil(window.seconds / width))
    lines = []
    for workers in groups:
        known = worker_memory_by_bin(
            connection, window.cluster, window.start, window.stop, workers, width, bins
        )
        lines.append(_held(known, valid_bins=math.ceil(STALE_AFTER / width)))
    return {"width": width, "lines": lines}


def _held(known: Floats, valid_bins: int) -> Line:
    """A missing value is the last one before it, for up to `valid_bins` bins."""
    places = np.arange(len(known))
    last = np.maximum.accumulate(np.where(np.isnan(known), -1, places))
    is_valid = (last >= 0) & (places - last <= valid_bins)
    return [
        float(known[at]) if valid else None
        for at, valid in zip(last.tolist(), is_valid.tolist(), strict=True)
    ]
