"""Which computations a simulation leaves with the worker that they stayed with (piles.py)."""

from __future__ import annotations

import numpy as np

from observatory.why.intervals import Integers
from observatory.why.piles import Pile, piles
from observatory.why.records import Records, Spans
from observatory.why.thread_times.assignments import Stays, assignments
from observatory.why.what_if.recorded.rates import sent_times
from observatory.why.what_if.recorded.workers import numbers


def held(records: Records, computing: Spans, known: Stays) -> dict[int, int]:
    """Return the number of the recorded worker of each computation that was in a pile, by its place."""
    found = piles(records, assignments(records, known)).piles
    if not found:
        return {}
    error = records.clock_errors_of(computing.worker)
    sent = sent_times(known, computing.task, computing.times.start + error)
    number = numbers(records)
    return {place: number[one.worker] for one in found for place in _places(one, computing, sent)}


def _places(pile: Pile, computing: Spans, sent: Integers) -> list[int]:
    """Of those on its worker that were sent before a time of it ended, and began after that time began."""
    before = np.searchsorted(pile.times.stop, sent, side="right")
    starts = np.append(pile.times.start, np.iinfo(np.int64).max)[before]
    is_there = (computing.worker == pile.worker) & (sent > 0) & (computing.times.start > starts)
    found: list[int] = np.flatnonzero(is_there).tolist()
    return found
