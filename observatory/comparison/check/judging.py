"""Whether a figure of a run is worse than that of earlier runs: worse, fine, or not to be told.

A figure that is larger than the median of the earlier ones by less than the limit is fine. Above the limit it
is worse if a run without a change would hardly ever be so large: by Student's t on logarithms, which is wide
where few runs say how much they vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log, pi, sqrt
from statistics import median, stdev
from typing import Literal

import numpy as np

from observatory.comparison.change_points import FEWEST, LEAST_NOISE, find_change_points

Verdict = Literal["worse", "unclear", "fine", "skipped"]
"""unclear: too few runs, or runs that vary too much; skipped: nothing was recorded, or it isn't checked"""

LEVEL = 0.0025
"""share of runs without a change that may be called worse by one figure"""
FOUND = 0.95
"""share of the changes of size `noticed` that are found"""
OF_DIFFERENCES = 1.05
"""times the median difference of neighbours: the deviation of normal noise"""


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    usual: float | None
    """median of the earlier values; None: there are none"""
    ratio: float | None
    """of the value to the usual one; None: not defined"""
    spread: float | None
    """how much runs vary: the standard deviation of logarithms; None: too few runs say it"""
    noticed: float | None
    """the least increase, as a share, of which FOUND are called worse; None: too few runs say it"""


def since_last_change(durations: Sequence[float]) -> int:
    """The index of the first of the runs, oldest first, that are as they were last."""
    found = find_change_points(durations)
    return found[-1].at if found and len(durations) - found[-1].at >= FEWEST else 0


def judge(value: float, before: Sequence[float], limit: float) -> Judgement:
    """Judges `value` by earlier ones. `limit`: the share by which it may be larger."""
    if not before:
        return Judgement("unclear", None, None, None, None)
    usual = median(before)
    if value <= 0 or min(before) <= 0:  # without a logarithm
        verdict: Verdict = "fine" if value <= usual * (1 + limit) else "unclear"
        return Judgement(verdict, usual, value / usual if usual else None, None, None)
    ratio = value / usual
    if len(before) < FEWEST:
        return Judgement("fine" if ratio <= 1 + limit else "unclear", usual, ratio, None, None)
    logs = [log(each) for each in before]
    spread = _spread(logs)
    certain = _quantile(1 - LEVEL, len(logs) - 1) * spread * sqrt(1 + pi / (2 * len(logs)))
    noticed = expm1(max(certain + _quantile(FOUND, len(logs) - 1) * spread, log(1 + limit)))
    if ratio <= 1 + limit:
        return Judgement("fine", usual, ratio, spread, noticed)
    return Judgement("worse" if log(ratio) > certain else "unclear", usual, ratio, spread, noticed)


def _spread(logs: Sequence[float]) -> float:
    """The larger of two estimates: a single outlier, and a slow drift, must not make runs look alike."""
    of_neighbours = OF_DIFFERENCES * float(np.median(np.abs(np.diff(logs))))
    return max(stdev(logs), of_neighbours, LEAST_NOISE)


def _quantile(share: float, degrees: int) -> float:
    from scipy.stats import t  # slow to import

    return float(t.ppf(share, degrees))
