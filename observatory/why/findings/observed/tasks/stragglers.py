"""Which tasks are stragglers by replay/windows/stragglers.py, and for no reason of their worker's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from observatory.replay.windows.stragglers import LEAST_EXCESS, RATIO
from observatory.why.critical_path.predecessors import Predecessors
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.findings.observed.tasks.first_uses import FirstUse
from observatory.why.findings.observed.workers.slow_workers import SlowWorker
from observatory.why.intervals import Flags, Integers, Numbers


def are_stragglers(
    computations: Computations, slow_workers: Sequence[SlowWorker], uses: Sequence[FirstUse]
) -> Flags:
    """Whether each computation is one: also on a slow worker, if it took long even for that."""
    durations = computations.durations.copy()
    for slow in slow_workers:
        on_it = np.isin(computations.spans.worker, slow.workers)
        durations[on_it] = computations.durations[on_it] / slow.ratio
    is_first_use = np.zeros(len(durations), np.bool_)
    for use in uses:
        is_first_use[use.rows] = True
    return np.asarray(
        _are_long(computations, durations)
        & ~is_first_use
        & (durations > np.nan_to_num(computations.longest_usual, nan=np.inf))
    )


def with_most_of_prefix(computations: Computations) -> Flags:
    """Whether they took much longer than is usual, and most of the work of their prefix is in them.

    The partitions of a join differ too much to tell what is usual, also where one key has most rows.
    """
    return _are_long(computations, computations.durations) & computations.is_most_of_prefix


def are_last_steps(
    computations: Computations, rows: Integers, needed_by: Callable[[int], Predecessors]
) -> Flags:
    """Whether each of `rows` needs others of its prefix and runs when all of them have ended.

    As the last step of a tree does: it has more to do than those before. `needed_by`: what a prefix needed.
    """
    spans = computations.spans
    found = np.zeros(len(rows), np.bool_)
    for place, row in enumerate(rows.tolist()):
        of_prefix = spans.prefix == spans.prefix[row]
        of_prefix[row] = False
        if np.all(spans.times.stop[of_prefix] <= spans.times.start[row]):
            found[place] = bool(of_prefix[needed_by(int(spans.prefix[row])).of(row)].any())
    return found


def _are_long(computations: Computations, durations: Numbers) -> Flags:
    """Whether they took much longer than is usual for their prefix."""
    usual = np.nan_to_num(computations.usual, nan=np.inf)
    least = np.maximum(RATIO * usual, usual + LEAST_EXCESS)
    return np.asarray(computations.finished & (durations >= least))
