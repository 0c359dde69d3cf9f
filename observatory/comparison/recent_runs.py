"""The durations of a run and of those of its name before it, and whether its own is unusual."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Value

from observatory.comparison.deviation import Deviation, deviation_of
from observatory.comparison.run_selection import last_runs_before
from observatory.runs.models import Run

ENDED = (Run.Outcome.FINISHED, Run.Outcome.ERRED)


@dataclass(frozen=True, slots=True)
class RecentDurations:
    """In seconds."""

    before: list[float]
    """of the last finished runs of its name, oldest first"""
    own: float | None
    """None: it is running, or was lost"""
    deviation: Deviation | None
    """None: too few runs say what is usual"""

    @property
    def all(self) -> list[float]:
        return self.before if self.own is None else [*self.before, self.own]


def recent_durations(runs: Sequence[Run]) -> dict[int, RecentDurations]:
    """Of each run, by its id, with one query."""
    queries = [
        last_runs_before(run).annotate(later=Value(run.pk)).values_list("later", "start", "stop")
        for run in runs
    ]
    before: dict[int, list[float]] = defaultdict(list)
    for later, start, stop in sorted(queries[0].union(*queries[1:], all=True)) if queries else ():
        assert stop is not None
        before[later].append((stop - start).total_seconds())
    return {run.pk: _recent(run, before[run.pk]) for run in runs}


def _recent(run: Run, before: list[float]) -> RecentDurations:
    own = (run.stop - run.start).total_seconds() if run.stop and run.outcome in ENDED else None
    return RecentDurations(before, own, None if own is None else deviation_of(own, before))
