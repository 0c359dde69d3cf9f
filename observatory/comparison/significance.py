"""The significance test of docs/comparing.md: which prefixes are slower or faster in one run.

The tasks of a run aren't independent: load on a machine slows all tasks that run at the same time. A test
that assumes independence finds differences between any two runs with thousands of tasks. So the unit is the
block: the median of consecutive tasks. And a prefix must differ by more than MARGIN from all other prefixes,
since a slower machine slows all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MARGIN = 0.05
"""share: smaller differences of durations are ignored"""
LEVEL = 0.01
"""of significance, for the adjusted p"""
MOST_BLOCKS, FEWEST_BLOCKS = 20, 5
TASKS_IN_BLOCK = 4
"""at least, if there are enough tasks"""
SHORTEST = 1e-6
"""seconds: the clock's resolution"""


@dataclass(frozen=True, slots=True)
class Shift:
    """How the durations of a prefix differ from those in another run."""

    ratio: float
    """of the medians of the blocks"""
    others: float
    """the same ratio of all other prefixes: their median"""
    p: float
    """under the hypothesis that the difference is at most MARGIN"""


def block_medians(start: Integers, seconds: Floats) -> Floats:
    """Logarithms of the median durations of blocks of tasks, in order of their starts."""
    count = int(np.clip(len(start) // TASKS_IN_BLOCK, min(FEWEST_BLOCKS, len(start)), MOST_BLOCKS))
    if not count:
        return np.zeros(0)
    ordered = np.log(np.maximum(seconds[np.argsort(start, kind="stable")], SHORTEST))
    return np.array([np.median(block) for block in np.array_split(ordered, count)])


def shifts(blocks: Mapping[str, Floats], others: Mapping[str, Floats]) -> dict[str, Shift]:
    """Shifts of `blocks` from `others` by prefix; without prefixes with too few tasks in either."""
    names = [
        name
        for name in blocks
        if min(len(blocks[name]), len(others.get(name, ()))) >= FEWEST_BLOCKS
    ]  # fmt: skip
    moved = np.array([np.median(blocks[name]) - np.median(others[name]) for name in names])
    found = {}
    for place, name in enumerate(names):
        rest = np.delete(moved, place)
        common = float(np.median(rest)) if len(rest) else 0.0
        found[name] = Shift(
            ratio=float(np.exp(moved[place])),
            others=float(np.exp(common)),
            p=_exceeding(blocks[name], others[name], common),
        )
    return found


def combined(found: Sequence[Mapping[str, Shift]]) -> dict[str, Shift]:
    """Combines shifts from several runs: their medians. Twice the median of p is valid under dependence."""
    if len(found) == 1:
        return dict(found[0])
    together = {}
    for name in {name for shifts in found for name in shifts}:
        known = [shifts[name] for shifts in found if name in shifts]
        # runs without the prefix count as no difference
        p = [shift.p for shift in known] + [1.0] * (len(found) - len(known))
        together[name] = Shift(
            ratio=float(np.median([shift.ratio for shift in known])),
            others=float(np.median([shift.others for shift in known])),
            p=min(1.0, 2 * float(np.median(p))),
        )
    return together


def adjusted(found: Mapping[str, Shift]) -> dict[str, float]:
    """p by prefix, adjusted for the number of prefixes (Benjamini and Hochberg)."""
    if not found:
        return {}
    from scipy.stats import false_discovery_control  # slow to import

    values = false_discovery_control([shift.p for shift in found.values()])
    return dict(zip(found, map(float, values), strict=True))


def _exceeding(blocks: Floats, others: Floats, common: float) -> float:
    """p of Mann and Whitney's U test that `blocks` exceed `others` by more than MARGIN and `common`."""
    moved = np.median(blocks) - np.median(others)
    margin = np.log1p(MARGIN)
    alternative, beyond = ("greater", margin) if moved > 0 else ("less", -margin)
    # a common shift in the other direction must not add to the difference
    further = max(common, 0.0) if moved > 0 else min(common, 0.0)
    from scipy.stats import mannwhitneyu  # slow to import

    return float(mannwhitneyu(blocks, others + beyond + further, alternative=alternative).pvalue)
