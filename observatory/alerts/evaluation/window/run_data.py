"""Reads the runs that ended in windows, and the runs before them, once for all rules and clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TypeGuard

import psycopg

from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import AnyCondition, EventCondition, Measure, RunCondition
from observatory.alerts.rules.events import RUN_SLOWER
from observatory.comparison.recent_runs import ENDED, RecentDurations, recent_durations
from observatory.comparison.run_selection import earlier_by_run
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.runs.refresh import end_of
from observatory.store.archive.needed import is_anything_listed
from observatory.store.archive.scans.conditions import Condition
from observatory.store.connection import connect_reader
from observatory.store.queries.tasks.errors import ErrorKinds, error_kinds
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.scanning import scanned
from observatory.store.times import from_microseconds, to_microseconds

UNKNOWN_END = datetime.max.replace(tzinfo=UTC)
"""as the end of a run: it isn't known"""

Earlier = tuple[int, tuple[Run.Outcome, ...]]
"""which earlier runs a condition compares with: the last so many, that ended so"""


RunsCondition = RunCondition | EventCondition
"""one on runs, or on the event that a run was slow"""


class RunData:
    """The runs of a cluster that ended in a window, or not long before it; `load_runs` reads them."""

    def __init__(self, cluster: int, start: int, stop: int) -> None:
        self.cluster = cluster
        self.start, self.stop = start, stop
        self.last_end: datetime | None = UNKNOWN_END
        """the end of the newest run that ended, if that is known; None: there is none"""
        self.earlier: dict[tuple[int, Earlier], Sequence[Run]] = {}
        """by the number of a run: those before it, oldest first"""
        self.durations: dict[int, RecentDurations] = {}
        self.kinds: dict[int, ErrorKinds] = {}
        """of the errors of the runs that a condition on new errors judges, and of those before them"""
        self._ended: Sequence[Run] = ()
        self._since = UNKNOWN_END
        """from when on the runs that ended have been read"""
        self._known: set[RunsCondition] = set()

    def ended(self, window: float) -> list[Run]:
        """The runs that ended in the window or `window` seconds before it, in the order of their ends."""
        since = self._start_of(window)
        return [run for run in self._ended if run.stop is not None and run.stop > since]

    def judged(self, condition: RunCondition) -> list[Run]:
        """The counted runs that the condition is about: of the window, and the last of each name before.

        Figures of a run are counted after its end, when all of its records have arrived.
        """
        last: dict[str, Run] = {}
        within = []
        for run in self.ended(condition.window):
            if run.counted is None or (condition.name and not fnmatchcase(run.name, condition.name)):
                continue
            if stop_of(run) <= self.start:
                last[run.name] = run
            else:
                within.append(run)
        return [*last.values(), *within]

    def unread(self, conditions: Iterable[AnyCondition]) -> list[RunsCondition]:
        """Those about runs that may have ended and haven't been read yet; they count as read then."""
        unread = {each for each in conditions if is_about_runs(each)} - self._known
        self._known |= unread
        return [each for each in unread if self.last_end and self.last_end > self._start_of(each.window)]

    def unread_since(self, unread: Iterable[RunsCondition]) -> datetime | None:
        """From when on the runs that ended have to be read for `unread`; None: they are known."""
        since = self._start_of(max((each.window for each in unread), default=0.0))
        return since if since < self._since else None

    def keep(self, since: datetime, runs: Sequence[Run]) -> None:
        self._since, self._ended = since, [run for run in runs if stop_of(run) < self.stop]

    def _start_of(self, window: float) -> datetime:
        return from_microseconds(self.start - round(window * SECOND))


def is_about_runs(condition: AnyCondition) -> TypeGuard[RunsCondition]:
    is_slower = isinstance(condition, EventCondition) and condition.event == RUN_SLOWER.name
    return is_slower or isinstance(condition, RunCondition)


def earlier_of(condition: RunCondition) -> Earlier:
    is_of_errors = condition.measure in (Measure.ERRORS, Measure.NEW_ERRORS)
    return condition.earlier, ENDED if is_of_errors else (Run.Outcome.FINISHED,)


def stop_of(run: Run) -> int:
    """In microseconds."""
    assert run.stop is not None
    return to_microseconds(run.stop)


def load_runs(
    connection: psycopg.Connection, windows: Iterable[tuple[RunData, Iterable[AnyCondition]]]
) -> None:
    """Reads the runs that the conditions are about, and those before them, of all clusters together."""
    unread = {data: some for data, conditions in windows if (some := data.unread(conditions))}
    if not unread:
        return
    _read_ended({data: since for data, some in unread.items() if (since := data.unread_since(some))})
    compared: defaultdict[Earlier, dict[int, Run]] = defaultdict(dict)
    slower: list[Run] = []
    with_errors: list[Run] = []
    for data, condition in ((data, each) for data, some in unread.items() for each in some):
        if isinstance(condition, EventCondition):
            slower += data.ended(condition.window)
            continue
        judged = data.judged(condition)
        compared[earlier_of(condition)] |= {run.pk: run for run in judged}
        with_errors += judged if condition.measure is Measure.NEW_ERRORS else []
    earlier = {
        (run, which): before
        for which, runs in compared.items()
        for run, before in earlier_by_run(list(runs.values()), *which).items()
    }
    durations = recent_durations(slower) if slower else {}
    kinds = _kinds_of_errors(connection, with_errors, earlier) if with_errors else {}
    for data in unread:
        data.earlier |= earlier
        data.durations |= durations
        data.kinds |= kinds


def _read_ended(since: Mapping[RunData, datetime]) -> None:
    if not since:
        return
    found = Run.objects.filter(
        cluster__in=[data.cluster for data in since],
        stop__gt=min(since.values()),
        stop__lt=from_microseconds(max(data.stop for data in since)),
        outcome__in=ENDED,
    )
    by_cluster: defaultdict[int, list[Run]] = defaultdict(list)
    for run in found.defer("contents", "code").select_related("cluster").order_by("stop", "pk"):
        by_cluster[run.cluster_id].append(run)
    for data, first in since.items():
        data.keep(first, by_cluster[data.cluster])


def _kinds_of_errors(
    connection: psycopg.Connection, runs: Sequence[Run], earlier: Mapping[tuple[int, Earlier], Sequence[Run]]
) -> dict[int, ErrorKinds]:
    """By run, of those with errors.

    Archived errors are found in their files, those of one cluster after those of the other.
    """
    judged = {run.pk for run in runs}
    before = (run for (later, _), found in earlier.items() if later in judged for run in found)
    every = [run for run in {each.pk: each for each in (*runs, *before)}.values() if run.stop and run.errors]
    if not is_anything_listed(connection):
        return _kinds_within(connection, every)
    found: dict[int, ErrorKinds] = {}
    # of its own: the rounds of rules have a transaction that is no snapshot
    with connect_reader() as reader:
        for cluster in {run.cluster_id for run in every}:
            own = [run for run in every if run.cluster_id == cluster]
            within = Condition((), min(run.start for run in own), max(end_of(run) for run in own))
            with snapshot(reader), scanned(reader, cluster, {"error": within}):
                found |= _kinds_within(reader, own)
    return found


def _kinds_within(connection: psycopg.Connection, runs: Sequence[Run]) -> dict[int, ErrorKinds]:
    windows = {run.pk: (run.cluster_id, run.start, end_of(run)) for run in runs}
    others = {run.pk: other_work_of(connection, run, end_of(run)) for run in runs}
    return error_kinds(connection, windows, others)
