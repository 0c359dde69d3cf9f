"""Finds runs that took longer than earlier runs of the same name, by more than these vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from observatory.comparison.change_points import FEWEST, LEAST, LEAST_NOISE, find_change_points
from observatory.comparison.history import MEASURES
from observatory.comparison.run_selection import MOST_EARLIER, finished_before
from observatory.runs.models import Run

OUTLYING = 4.0
"""times the noise: without a change, one in ten thousand runs exceeds this"""


@dataclass(frozen=True, slots=True)
class Slowdown:
    seconds: float
    usual: float
    """seconds: median of the earlier runs since their last change point"""


def find_slowdown(run: Run) -> Slowdown | None:
    """None if the run isn't slower, or if there are too few earlier runs."""
    runs = Run.objects.filter(name=run.name, cluster__project=run.cluster.project_id)
    earlier = finished_before(runs.order_by("-start", "-pk"), run, MOST_EARLIER)
    value = MEASURES["duration"].value
    seconds, before = value(run), [value(each) for each in reversed(earlier)]
    known = [each for each in before if each is not None]
    return None if seconds is None else slowdown_of(seconds, known)


def slowdown_of(seconds: float, before: Sequence[float]) -> Slowdown | None:
    """Compares a duration with those of earlier runs, oldest first."""
    found = find_change_points(before)
    usual = before[found[-1].at :] if found else before
    if len(usual) < FEWEST:
        return None
    logs = np.log(usual)
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    excess = np.log(seconds) - float(np.median(logs))
    is_slower = excess > max(OUTLYING * noise, np.log1p(LEAST))
    return Slowdown(seconds, median(usual)) if is_slower else None
