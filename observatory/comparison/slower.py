"""Whether a run took longer than those of its name before it, by more than they differ among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from observatory.comparison.candidates import MOST_EARLIER, finished_before
from observatory.comparison.changes import FEWEST, LEAST, LEAST_NOISE, changes
from observatory.comparison.history import MEASURES
from observatory.runs.models import Run

OUTLYING = 4.0
"""times the usual noise, in which one of ten thousand runs is slower though nothing changed"""


@dataclass(frozen=True, slots=True)
class Slower:
    seconds: float
    usual: float
    """seconds: the median of the runs before, since the last change of theirs"""


def slower_than_before(run: Run) -> Slower | None:
    """None where it isn't, or where there are too few runs to say so."""
    runs = Run.objects.filter(name=run.name, cluster__project=run.cluster.project_id)
    earlier = finished_before(runs.order_by("-start", "-pk"), run, MOST_EARLIER)
    value = MEASURES["duration"].value
    seconds, before = value(run), [value(each) for each in reversed(earlier)]
    known = [each for each in before if each is not None]
    return None if seconds is None else judged(seconds, known)


def judged(seconds: float, before: Sequence[float]) -> Slower | None:
    """A duration beside those of the runs before, in their order."""
    found = changes(before)
    usual = before[found[-1].at :] if found else before
    if len(usual) < FEWEST:
        return None
    logs = np.log(usual)
    noise = max(float(np.median(np.abs(np.diff(logs)))), LEAST_NOISE)
    excess = np.log(seconds) - float(np.median(logs))
    is_slower = excess > max(OUTLYING * noise, np.log1p(LEAST))
    return Slower(seconds, median(usual)) if is_slower else None
