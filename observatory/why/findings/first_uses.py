"""First tasks of a prefix on each worker that took longer than those after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observatory.why.findings.computations import Computations
from observatory.why.intervals import Integers

RATIO, LEAST_EXCESS = 2.0, 0.5
"""times, and seconds above, what later tasks of the prefix usually take"""
FEWEST_LATER = 4
"""tasks that tell what is usual"""
FEWEST_WORKERS, LEAST_SHARE = 2, 0.75
"""number and share of the workers on which the first tasks took longer"""


@dataclass(frozen=True, slots=True)
class FirstUse:
    prefix: int
    rows: Integers
    """of Computations: the first tasks that took longer"""
    workers: tuple[int, ...]
    usual: float
    """seconds that later tasks take"""


def first_uses(computations: Computations) -> list[FirstUse]:
    """Return the prefixes whose first tasks took longer on nearly all workers."""
    found = (_of_prefix(computations, prefix) for prefix in computations.counts)
    return [one for one in found if one is not None]


def _of_prefix(computations: Computations, prefix: int) -> FirstUse | None:
    spans, durations = computations.spans, computations.durations
    rows = np.flatnonzero((spans.prefix == prefix) & computations.finished)
    workers, place = np.unique(spans.worker[rows], return_inverse=True)
    if len(workers) < FEWEST_WORKERS:
        return None
    # those that began before the first one there had ended: it may have kept them waiting
    ended = np.full(len(workers), np.iinfo(np.int64).max)
    np.minimum.at(ended, place, spans.times.stop[rows])
    is_first = spans.times.start[rows] < ended[place]
    if np.count_nonzero(~is_first) < FEWEST_LATER:
        return None
    usual = float(np.median(durations[rows[~is_first]]))
    is_long = is_first & (durations[rows] >= max(RATIO * usual, usual + LEAST_EXCESS))
    on = np.unique(spans.worker[rows[is_long]])
    if len(on) < max(FEWEST_WORKERS, LEAST_SHARE * len(workers)):
        return None
    return FirstUse(prefix, rows[is_long], tuple(on.tolist()), usual)
