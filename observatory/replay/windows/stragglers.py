"""What a straggler is: a task that takes much longer than is usual for its prefix, and costs time by it.

The marks of the task stream, the list of stragglers, the outliers and the finding take these limits. The
finding also knows first uses, slow and silent workers, and leaves out what they explain. It adds a task that
takes as long as all others of its prefix together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

RATIO = 2.0
"""times the median of the prefix"""
LEAST_EXCESS = 1.0
"""seconds above the median"""
FENCE = 2.5
"""interquartile ranges above the upper quartile, both of logarithms

Durations that nothing disturbs are often lognormal: one of 39,000 is beyond it, however wide they are. Beyond
three ranges of the durations themselves (Tukey's outer fence) is one of 30, where their deviation is 1.
"""
WIDEST = 4.0
"""times the lower quartile, that the upper one is at most for this

Lognormal durations with a deviation of 1 have this. Where a quarter of the partitions is empty, the quartiles
are of two kinds of tasks, and say nothing of how far one of a kind can be from others.
"""
SHORTEST = 0.01
"""seconds: what takes less counts as this much"""
FEWEST = 4
"""tasks of a prefix that say what is usual"""


def fence_of(lower: Numbers, upper: Numbers) -> Numbers:
    """Seconds that no task takes as a rule, by the quartiles of its prefix (seconds)."""
    lower, upper = np.maximum(lower, SHORTEST), np.maximum(upper, SHORTEST)
    return np.asarray(upper * np.minimum(upper / lower, WIDEST) ** FENCE)
