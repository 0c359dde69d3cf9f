"""Which prefixes' tasks took longer or shorter in one run than in another: the test of docs/comparing.md.

The tasks of a run aren't independent: what else a machine does slows all that run at that moment. With
thousands of tasks any test that takes them as independent finds differences between two runs of the same
work. So the unit is the block: the median of tasks that ran one after another. And a prefix differs only if
it does so by more than MARGIN beyond what all the others do, since a slower machine slows them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MARGIN = 0.05
"""a difference of durations up to this share is none"""
LEVEL = 0.01
"""of the adjusted p: what is below it is significant"""
MOST_BLOCKS, FEWEST_BLOCKS = 20, 5
TASKS_IN_BLOCK = 4
"""at least, where there are as many tasks"""
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
    """of the differences up to MARGIN: how likely they would show as much"""


def block_medians(start: Integers, seconds: Floats) -> Floats:
    """Logarithms of the medians of blocks of tasks that started one after another."""
    count = int(np.clip(len(start) // TASKS_IN_BLOCK, min(FEWEST_BLOCKS, len(start)), MOST_BLOCKS))
    if not count:
        return np.zeros(0)
    ordered = np.log(np.maximum(seconds[np.argsort(start, kind="stable")], SHORTEST))
    return np.array([np.median(block) for block in np.array_split(ordered, count)])


def shifts(blocks: Mapping[str, Floats], others: Mapping[str, Floats]) -> dict[str, Shift]:
    """By prefix, how `blocks` differ from `others`; without prefixes that have too few tasks in either."""
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
    """One run against several: their median. Twice the median of p is a p, however they depend."""
    if len(found) == 1:
        return dict(found[0])
    together = {}
    for name in {name for shifts in found for name in shifts}:
        known = [shifts[name] for shifts in found if name in shifts]
        # a run that says nothing of the prefix says that nothing differs
        p = [shift.p for shift in known] + [1.0] * (len(found) - len(known))
        together[name] = Shift(
            ratio=float(np.median([shift.ratio for shift in known])),
            others=float(np.median([shift.others for shift in known])),
            p=min(1.0, 2 * float(np.median(p))),
        )
    return together


def adjusted(found: Mapping[str, Shift]) -> dict[str, float]:
    """By prefix, p adjusted for how many were asked (Benjamini and Hochberg)."""
    if not found:
        return {}
    from scipy.stats import false_discovery_control  # slow to load: changes.py

    values = false_discovery_control([shift.p for shift in found.values()])
    return dict(zip(found, map(float, values), strict=True))


def _exceeding(blocks: Floats, others: Floats, common: float) -> float:
    """p of Mann and Whitney's U: that `blocks` lie more than MARGIN beyond `others` and what is common."""
    moved = np.median(blocks) - np.median(others)
    margin = np.log1p(MARGIN)
    alternative, beyond = ("greater", margin) if moved > 0 else ("less", -margin)
    # others that moved the other way make nothing of a prefix that stayed, nor its difference more certain
    further = max(common, 0.0) if moved > 0 else min(common, 0.0)
    from scipy.stats import mannwhitneyu  # slow to load: changes.py

    return float(mannwhitneyu(blocks, others + beyond + further, alternative=alternative).pvalue)
