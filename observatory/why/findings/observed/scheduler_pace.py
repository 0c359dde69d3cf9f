"""How long the scheduler takes for each change of a task's state, where that is what it does all the time."""

from __future__ import annotations

import numpy as np

from observatory.why.intervals import Integers

SLOW = 0.002
"""seconds for a change of a task's state: Dask takes less than 0.1 ms, on a busy machine as well"""
FEWEST = 100
"""changes of state"""
REGULAR = 2.0
"""times the shortest gaps between two changes (a twentieth of them) that the median is, at most"""


def seconds_of_change(times: Integers) -> float:
    """Return the seconds of each change, where all take about as long; else 0.

    `times`: of all changes, in microseconds. Dask makes several at once, so that most follow each other
    immediately. Where none does, something keeps the scheduler at each of them, as a plugin.
    """
    if len(times) < FEWEST:
        return 0.0
    shortest, median = np.percentile(np.diff(np.sort(times)), [5, 50]) / 1e6
    return float(median) if shortest >= SLOW and median <= REGULAR * shortest else 0.0
