"""First tasks of a prefix on each worker, or each thread of one, that took longer than those after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Flags, Integers, Numbers

RATIO, LEAST_EXCESS = 2.0, 0.5
"""times, and seconds above, what later tasks of the prefix usually take"""
FEWEST_LATER = 4
"""tasks that tell what is usual"""
FEWEST_PLACES, LEAST_SHARE = 2, 0.75
"""number and share of the workers, or threads, on which the first tasks took longer"""
MOST_EXCESS_OF_SECOND = 1 / 3
"""of the excess of the first tasks, that the second ones may have: a first use is over then, but where the
longest tasks come first, they become shorter by and by"""
FEWEST_SAMPLES, MOST_ALIKE = 20, 0.5
"""of a profile that tell what tasks did; share of them that saw the first tasks where they saw later ones"""


@dataclass(frozen=True, slots=True)
class FirstUse:
    prefix: int
    rows: Integers
    """of Computations: the first tasks that took longer"""
    workers: tuple[int, ...]
    usual: float
    """seconds that later tasks take"""


def is_same_work(first: Mapping[str, int], later: Mapping[str, int]) -> bool:
    """Whether first tasks did what later ones do, for longer: they have more of it, and set up nothing.

    By samples of a profile: how often each stack was seen. False where there are too few.
    """
    of_first, of_later = sum(first.values()), sum(later.values())
    if min(of_first, of_later) < FEWEST_SAMPLES:
        return False
    alike = sum(min(count / of_first, later.get(stack, 0) / of_later) for stack, count in first.items())
    return alike > MOST_ALIKE


def first_uses(computations: Computations) -> list[FirstUse]:
    """Return the prefixes whose first tasks took longer on nearly all workers."""
    found = (_of_prefix(computations, prefix) for prefix in computations.counts)
    return [one for one in found if one is not None]


def _of_prefix(computations: Computations, prefix: int) -> FirstUse | None:
    spans = computations.spans
    rows = np.flatnonzero((spans.prefix == prefix) & computations.finished)
    # those that began before the first one there had ended: it may have kept them waiting
    return _of_places(computations, prefix, rows, spans.worker[rows]) or _of_places(
        computations, prefix, rows, spans.lane[rows]
    )


def _of_places(computations: Computations, prefix: int, rows: Integers, places: Integers) -> FirstUse | None:
    """`places`: the worker or the thread of each row."""
    spans, durations = computations.spans, computations.durations
    found, place = np.unique(places, return_inverse=True)
    if len(found) < FEWEST_PLACES:
        return None
    ended = np.full(len(found), np.iinfo(np.int64).max)
    np.minimum.at(ended, place, spans.times.stop[rows])
    is_first = spans.times.start[rows] < ended[place]
    if np.count_nonzero(~is_first) < FEWEST_LATER:
        return None
    usual = float(np.median(durations[rows[~is_first]]))
    is_long = is_first & (durations[rows] >= max(RATIO * usual, usual + LEAST_EXCESS))
    if len(np.unique(places[is_long])) < max(FEWEST_PLACES, LEAST_SHARE * len(found)):
        return None
    excess = float(np.median(durations[rows[is_long]])) - usual
    second = _duration_of_second(durations[rows], spans.times.start[rows], place, is_first)
    if second - usual > MOST_EXCESS_OF_SECOND * excess:
        return None
    workers = np.unique(spans.worker[rows[is_long]])
    return FirstUse(prefix, rows[is_long], tuple(workers.tolist()), usual)


def _duration_of_second(durations: Numbers, starts: Integers, place: Integers, is_first: Flags) -> float:
    """The median of the places' second tasks: of each place the one that begins next after its first ones."""
    later = np.flatnonzero(~is_first)
    later = later[np.argsort(starts[later], kind="stable")]
    _, earliest = np.unique(place[later], return_index=True)
    return float(np.median(durations[later[earliest]]))
