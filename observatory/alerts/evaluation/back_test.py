"""Back-tests a rule: evaluates it over a past window of a cluster, with the evaluator's code."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import psycopg
from django.conf import settings

from observatory.alerts.evaluation.archived_data import scanned_conditions, wanted_samples
from observatory.alerts.evaluation.flapping import durations
from observatory.alerts.evaluation.gathered import Gathered, SubjectHistory
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.evaluate import evaluate_all_subjects, evaluate_rule
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing, advance
from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import (
    Comparison,
    MetricCondition,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.alerts.series import count_samples, samples_within, series_within
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.archived_counts import archived_sample_count
from observatory.store.reading.archived_samples import ArchivedSamples, archived_samples
from observatory.store.reading.scanning import scanned
from observatory.store.series.sample_intervals import SENT_ON_CHANGE
from observatory.store.times import from_seconds

MAX_SAMPLES, MOST_ON_DASK = 3_000_000, 100_000_000
"""of a cluster in the window; the second where a Dask cluster reads them (archive/scans/on_dask.py)"""
SAMPLES_PER_PIECE = 500_000
MAX_PIECE = 86_400.0
"""seconds"""
MOST_SCANNED, LONGEST_SCAN = 2 * SAMPLES_PER_PIECE, 30.0
"""records of a piece that a scan of the archive finds, and its seconds: beyond, the kind is brought back"""
MAX_SUBJECTS = 50
Report = Callable[[float], None]


class BackTestError(ValueError):
    """Says why the window can't be evaluated, and what to do."""


@dataclass(frozen=True, slots=True)
class SubjectResult:
    """The result for one subject."""

    outcome: Outcome
    """thinned out for drawing, with its extremes"""
    firings: list[Firing]


@dataclass(frozen=True, slots=True)
class BackTest:
    """Subjects that fired come first, then those that came closest to it."""

    start: float
    stop: float
    """seconds: the part of the window in which the cluster existed"""
    results: list[SubjectResult] = field(default_factory=list)
    omitted: int = 0
    """subjects beyond MAX_SUBJECTS"""
    durations: list[float] = field(default_factory=list)
    """seconds of each firing of all subjects"""
    too_short: list[float] = field(default_factory=list)
    """seconds of each stretch of all subjects in which the rule was true for less than its hold time"""

    @property
    def firings(self) -> int:
        """The number of firings of all subjects."""
        return len(self.durations)


def back_test(
    cluster: Cluster, spec: RuleSpec, start: float, stop: float, report: Report = lambda share: None
) -> BackTest:
    """Evaluates `spec` over [start, stop), in seconds on the scheduler's clock, for a live or ended cluster.

    The window is evaluated in pieces, so that only the data of one is in memory. `report` gets the share that
    is done. Raises BackTestError.
    """
    if not start < stop:
        raise BackTestError("The window has to end after its start.")
    start, stop = max(start, cluster.started.timestamp()), min(stop, _end(cluster, spec))
    if not start < stop:
        return BackTest(start, start)
    with (
        read_connection() as connection,
        snapshot(connection),
        closing(_windows(connection, cluster, spec, start, stop)) as windows,
    ):
        gathered = Gathered(spec.hold)
        for data in windows:
            gathered.add(evaluate_all_subjects(data, spec))
            report((data.stop / SECOND - start) / (stop - start))
    found = sorted(gathered.results(stop), key=partial(_rank, spec), reverse=True)
    return BackTest(
        start,
        stop,
        [SubjectResult(each.outcome, list(each.firings.values())) for each in found[:MAX_SUBJECTS]],
        max(0, len(found) - MAX_SUBJECTS),
        [seconds for each in found for seconds in durations(list(each.firings.values()), stop)],
        [seconds for each in found for seconds in each.too_short],
    )


def firings_of_variants(
    cluster: Cluster, specs: Sequence[RuleSpec], start: float, stop: float
) -> list[list[Firing]]:
    """The firings of all subjects in [start, stop) for each variant of a rule, evaluated piece by piece.

    The variants differ in thresholds only, so they share what is read. The window is that of a back-test.
    """
    active: list[dict[Subject, ActiveAlert]] = [{} for _ in specs]
    found: list[dict[tuple[Subject, float], Firing]] = [{} for _ in specs]
    with (
        read_connection() as connection,
        snapshot(connection),
        closing(_windows(connection, cluster, specs[0], start, stop)) as windows,
    ):
        for data in windows:
            end = data.stop / SECOND
            for place, spec in enumerate(specs):
                left: dict[Subject, ActiveAlert] = {}
                for outcome in evaluate_rule(data, spec, active[place].keys()):
                    subject = outcome.subject
                    firings, alert = advance(active[place].get(subject), outcome, end, spec.hold)
                    found[place] |= {(subject, firing.fired): firing for firing in firings}
                    if alert is not None:
                        left[subject] = alert
                active[place] = left
    return [list(firings.values()) for firings in found]


def _end(cluster: Cluster, spec: RuleSpec) -> float:
    """The end of the cluster and of the event windows that follow it."""
    if cluster.ended is None:
        return time.time()
    windows = [each.window for each in spec.conditions if not isinstance(each, MetricCondition)]
    return cluster.ended.timestamp() + max(windows, default=0.0) + 1.0


def _windows(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float
) -> Generator[WindowData]:
    """Consecutive pieces of the window. Raises BackTestError."""
    with _samples(connection, cluster, spec, start, stop) as samples:
        most = MAX_SAMPLES if samples is None or samples.is_here else MOST_ON_DASK
        length = _length(connection, cluster, spec, start, stop, most)
        while start < stop:
            end = min(start + length, stop)
            data = WindowData(connection, cluster, start, end, samples or samples_within)
            conditions = scanned_conditions(data, spec)
            if samples is not None:
                conditions.pop("sample", None)
            with scanned(connection, cluster.pk, conditions, MOST_SCANNED, LONGEST_SCAN):
                yield data
            start = end


@contextmanager
def _samples(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float
) -> Iterator[ArchivedSamples | None]:
    """Archived ones, if all that are needed are of the window, or shortly before it."""
    first = WindowData(connection, cluster, start, min(start + MAX_PIECE, stop))
    wanted = wanted_samples(first, spec)
    if wanted is None or wanted.start is None:
        yield None
        return
    with archived_samples(connection, cluster.pk, replace(wanted, stop=from_seconds(stop))) as samples:
        yield samples


def _length(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float, most: int
) -> float:
    """The seconds of one piece. Raises BackTestError if the whole window has more than `most` samples."""
    conditions = [each for each in spec.conditions if isinstance(each, MetricCondition)]
    sides = [side for each in conditions for side in (each.selector, each.other)]
    selectors = [side for side in sides if isinstance(side, Selector)]
    past = max((selector.window for selector in selectors), default=0.0)
    window = round((start - past) * SECOND), round(stop * SECOND)
    metrics = sorted({selector.metric for selector in selectors})
    samples = archived_sample_count(connection, cluster.pk, metrics, *window, longest=LONGEST_SCAN)
    if samples is None:
        samples = count_samples(connection, cluster.pk, metrics, *window, MAX_SAMPLES + 1)
    for metric in SENT_ON_CHANGE.intersection(metrics):
        samples += round(
            len(series_within(connection, {cluster.pk: window}, [metric])[cluster.pk]) * (stop - start)
        )
    if samples > most:
        raise BackTestError(
            f"This window has more than {most:,} samples of {', '.join(metrics)} for "
            f"{cluster.name}: choose a shorter one.{_more_on_dask(most)}"
        )
    some = (stop - start) * SAMPLES_PER_PIECE / max(samples, 1)
    # a piece is at least as long as the past that it needs
    return max(1.0, past, min(MAX_PIECE, some))


def _more_on_dask(most: int) -> str:
    """What lifts a limit."""
    if most == MOST_ON_DASK:
        return ""
    if not settings.SCAN_SCHEDULER:
        return (
            f" Up to {MOST_ON_DASK:,} that are archived are read on a Dask cluster, if an administrator "
            "names one with OBSERVATORY_SCAN_SCHEDULER."
        )
    return (
        f" Up to {MOST_ON_DASK:,} that are archived are read on the Dask cluster of "
        "OBSERVATORY_SCAN_SCHEDULER, unless that can't be used (`dask-observatory doctor` says why), or the "
        "rule looks at what was before the window."
    )


def _rank(spec: RuleSpec, history: SubjectHistory) -> tuple[bool, float]:
    """Greater for a subject that fired, and for one that came closer to the threshold."""
    first = spec.conditions[0]
    falls = isinstance(first, MetricCondition) and first.comparison in (Comparison.BELOW, Comparison.AT_MOST)
    return bool(history.firings), -history.least if falls else history.greatest
