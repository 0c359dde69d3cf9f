"""Workers that went silent: the scheduler had them, and heard no heartbeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observatory.why.findings.observed.samples import Samples
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Integers, Intervals, Numbers

LEAST_SECONDS = 10.0
"""without a heartbeat, where others of the worker come at least four times as often"""
USUAL_GAPS = 4.0


@dataclass(frozen=True, slots=True)
class Silence:
    worker: int
    start: int
    stop: int
    """microseconds, to the width of a bin"""

    @property
    def seconds(self) -> float:
        return (self.stop - self.start) / 1e6


def silences(heartbeats: Samples, seen: Samples) -> list[Silence]:
    """Return the times without a heartbeat. `seen`: samples of each worker that the scheduler has."""
    found = []
    for worker in np.unique(heartbeats.worker).tolist():
        heard = heartbeats.times.stop[heartbeats.worker == worker]
        known = seen.times.stop[seen.worker == worker]
        if not len(known):
            continue
        until = np.append(heard[1:], max(heard[-1], known[-1]))
        gaps = until - heard
        usual = float(np.median(gaps[:-1])) if len(gaps) > 1 else 0.0
        least = max(LEAST_SECONDS * 1e6, USUAL_GAPS * usual)
        # where nothing was recorded of the worker at all, the recording has a gap
        recorded = np.searchsorted(known, until) - np.searchsorted(known, heard, side="right")
        is_silent = (gaps >= least) & (recorded >= 2)
        found += [
            Silence(worker, start, stop)
            for start, stop in zip(heard[is_silent].tolist(), until[is_silent].tolist(), strict=True)
        ]
    return found


def standing_still(computations: Computations, silence: Silence) -> tuple[Integers, Numbers]:
    """The computations that took longer because their worker was silent, and by how many seconds."""
    spans = computations.spans
    during = Intervals(
        np.maximum(spans.times.start, silence.start), np.minimum(spans.times.stop, silence.stop)
    )
    excess = computations.durations - computations.usual  # NaN: nothing is usual
    lost = np.minimum((during.stop - during.start) / 1e6, np.nan_to_num(excess, nan=0.0))
    rows = np.flatnonzero((spans.worker == silence.worker) & (lost > 0))
    return rows, lost[rows]
