"""The pace of a run: how much longer its tasks take than in earlier runs, whatever they had to wait for.

A prefix has the ratio of its usual duration in the run to the median of those in the others. The pace is the
median of these ratios, each with the weight of the time that its prefix computes: a single prefix that
changed doesn't move it. The paces of the earlier runs, each against all others, say how much runs vary.

The usual duration is the lower quartile of the medians of blocks of consecutive tasks: a machine that is busy
with something else for a while makes some blocks slower, and none faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import median

import numpy as np

from observatory.comparison.check.judging import Judgement, judge
from observatory.comparison.run_summary import PrefixSummary
from observatory.comparison.significance import FEWEST_BLOCKS

QUARTILE = 0.25

Prefixes = Mapping[str, PrefixSummary]


@dataclass(frozen=True, slots=True)
class Pace:
    """What the durations of a run's tasks say of it."""

    value: float
    """how many times as long they take as in the earlier runs"""
    prefixes: int
    """that this is the median of"""
    runs: int
    """that it is compared with"""
    judgement: Judgement


def judge_pace(own: Prefixes, earlier: Sequence[Prefixes], limit: float) -> Pace | None:
    """Judges the pace of a run by earlier ones. `limit`: the share by which its tasks may take longer.

    None: no prefix has enough tasks in the run and in at least half of the others.
    """
    names = _tested(own, earlier)
    value = _pace(names, own, earlier)
    if value is None:
        return None
    others = [
        _pace(names, each, [*earlier[:place], *earlier[place + 1 :]]) for place, each in enumerate(earlier)
    ]
    before = [1.0] if len(earlier) == 1 else [each for each in others if each is not None]
    return Pace(value, len(names), len(earlier), judge(value, before, limit))


def _tested(own: Prefixes, earlier: Sequence[Prefixes]) -> list[str]:
    """The prefixes with enough tasks in the run and in at least half of the others."""
    return [
        name
        for name in own
        if _usual(own, name) is not None
        and 2 * sum(_usual(each, name) is not None for each in earlier) >= len(earlier) > 0
    ]


def _pace(names: Sequence[str], own: Prefixes, others: Sequence[Prefixes]) -> float | None:
    """The pace of `own` against `others`; None: they have none of the prefixes in common."""
    ratios, weights = [], []
    for name in names:
        own_usual = _usual(own, name)
        known = [each for other in others if (each := _usual(other, name)) is not None]
        if own_usual is not None and known:
            ratios.append(own_usual - median(known))
            weights.append(median(each[name].seconds for each in others if name in each))
    return exp(_weighted_median(ratios, weights)) if ratios else None


def _usual(prefixes: Prefixes, name: str) -> float | None:
    """The logarithm of the usual duration of a prefix; None: it has too few tasks."""
    known = prefixes.get(name)
    if known is None or len(known.blocks) < FEWEST_BLOCKS:
        return None
    return float(np.quantile(known.blocks, QUARTILE))


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value up to which the half of the weight lies; the mean of two where it lies between them."""
    order = np.argsort(values, kind="stable")
    ordered, heights = np.array(values)[order], np.cumsum(np.array(weights)[order])
    half = heights[-1] / 2
    low, high = np.searchsorted(heights, half), np.searchsorted(heights, half, side="right")
    return float(ordered[low] + ordered[min(high, len(ordered) - 1)]) / 2
