"""The durations of a run and of those of its name before it, and whether its own is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F

from observatory.comparison.deviation import Deviation, deviation_of
from observatory.comparison.run_selection import last_runs_before_each
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
    earlier = last_runs_before_each().values_list(F("stop") - F("start"))
    found = Run.objects.filter(pk__in=[run.pk for run in runs]).annotate(earlier=ArraySubquery(earlier))
    before = dict(found.values_list("pk", "earlier"))
    return {run.pk: _recent(run, before.get(run.pk, [])[::-1]) for run in runs}


def _recent(run: Run, earlier: list[timedelta]) -> RecentDurations:
    before = [each.total_seconds() for each in earlier]
    own = (run.stop - run.start).total_seconds() if run.stop and run.outcome in ENDED else None
    return RecentDurations(before, own, None if own is None else deviation_of(own, before))
