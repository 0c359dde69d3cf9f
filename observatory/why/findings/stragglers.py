"""Which tasks are stragglers by replay/windows/stragglers.py, and for no reason of their worker's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from observatory.replay.windows.stragglers import LEAST_EXCESS, RATIO
from observatory.why.findings.computations import Computations
from observatory.why.findings.first_uses import FirstUse
from observatory.why.findings.slow_workers import SlowWorker
from observatory.why.intervals import Flags


def are_stragglers(
    computations: Computations, slow_workers: Sequence[SlowWorker], uses: Sequence[FirstUse]
) -> Flags:
    """Whether each computation is one: also on a slow worker, if it took long even for that."""
    usual = np.nan_to_num(computations.usual, nan=np.inf)
    durations = computations.durations.copy()
    for slow in slow_workers:
        on_it = np.isin(computations.spans.worker, slow.workers)
        durations[on_it] = computations.durations[on_it] / slow.ratio
    is_first_use = np.zeros(len(durations), np.bool_)
    for use in uses:
        is_first_use[use.rows] = True
    return np.asarray(
        computations.finished
        & ~is_first_use
        & (durations >= np.maximum(RATIO * usual, usual + LEAST_EXCESS))
        & (durations > np.nan_to_num(computations.longest_usual, nan=np.inf))
    )
