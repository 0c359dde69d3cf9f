"""The memory of runs over time, in seconds since their starts, by bins that are the same for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from observatory.comparison.significance import Floats
from observatory.comparison.summary import Window
from observatory.store.queries.comparison import memory_by_bin

BINS = 400
SHORTEST_BIN = 0.5
"""seconds: workers tell their memory once a second at most"""
HELD = 15.0
"""seconds: so long a worker's memory is taken to be what it last was"""


def memory_curves(connection: psycopg.Connection, windows: Sequence[Window]) -> dict[str, Any]:
    """The most that all workers' processes had together (bytes) in each bin; null where nobody told."""
    width = max(max(window.seconds for window in windows) / BINS, SHORTEST_BIN)
    lines = []
    for window in windows:
        bins = max(1, math.ceil(window.seconds / width))
        told = memory_by_bin(connection, window.cluster, window.start, window.stop, width, bins)
        lines.append(_together(told, held=math.ceil(HELD / width)))
    return {"width": width, "lines": lines}


def _together(told: Floats, held: int) -> list[float | None]:
    """The sum of the rows; where one has no value it is its last one for `held` bins."""
    workers, bins = told.shape
    if not workers:
        return [None] * bins
    places = np.where(np.isnan(told), -1, np.arange(bins))
    last = np.maximum.accumulate(places, axis=1)
    known = (last >= 0) & (np.arange(bins) - last <= held)
    values = np.where(known, np.take_along_axis(told, np.maximum(last, 0), axis=1), np.nan)
    return [
        None if math.isnan(total) else float(total)
        for total in np.where(known.any(axis=0), np.nansum(values, axis=0), np.nan)
    ]
