"""Memory of runs over time, in bins of the same width since each run's start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from observatory.comparison.run_summary import Window
from observatory.comparison.significance import Floats
from observatory.store.queries.windows.comparison import memory_by_bin

BINS = 400
SHORTEST_BIN = 0.5
"""seconds: workers report their memory at most once a second"""
STALE_AFTER = 15.0
"""seconds that a worker's last known memory stays valid"""


def memory_over_time(connection: psycopg.Connection, windows: Sequence[Window]) -> dict[str, Any]:
    """Peak memory of all workers' processes together (bytes) in each bin; None without a value."""
    width = max(max(window.seconds for window in windows) / BINS, SHORTEST_BIN)
    lines = []
    for window in windows:
        bins = max(1, math.ceil(window.seconds / width))
        by_worker = memory_by_bin(connection, window.cluster, window.start, window.stop, width, bins)
        lines.append(_sum_of_workers(by_worker, valid_bins=math.ceil(STALE_AFTER / width)))
    return {"width": width, "lines": lines}


def _sum_of_workers(by_worker: Floats, valid_bins: int) -> list[float | None]:
    """The sum of the rows; a missing value is the row's last one, for up to `valid_bins` bins."""
    workers, bins = by_worker.shape
    if not workers:
        return [None] * bins
    places = np.where(np.isnan(by_worker), -1, np.arange(bins))
    last = np.maximum.accumulate(places, axis=1)
    known = (last >= 0) & (np.arange(bins) - last <= valid_bins)
    values = np.where(known, np.take_along_axis(by_worker, np.maximum(last, 0), axis=1), np.nan)
    return [
        None if math.isnan(total) else float(total)
        for total in np.where(known.any(axis=0), np.nansum(values, axis=0), np.nan)
    ]
