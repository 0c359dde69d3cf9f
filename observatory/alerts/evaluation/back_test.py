"""Back-tests a rule: evaluates it over a past window of a cluster, with the evaluator's code."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
import psycopg
from tsdownsample import MinMaxLTTBDownsampler

from observatory.alerts.evaluation.archived_data import scanned_conditions
from observatory.alerts.evaluation.flapping import durations, too_short
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.evaluate import evaluate_all_subjects, evaluate_rule
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject, Truth
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing, advance
from observatory.alerts.evaluation.window.steps import SECOND, Integers
from observatory.alerts.rules.conditions import (
    Comparison,
    MetricCondition,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.queries.alerts.series import count_samples, series_within
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.archived_counts import archived_sample_count
from observatory.store.reading.scanning import scanned
from observatory.store.series.sample_intervals import SENT_ON_CHANGE

MAX_SAMPLES = 3_000_000
SAMPLES_PER_PIECE = 500_000
MAX_PIECE = 86_400.0
"""seconds"""
MOST_SCANNED, LONGEST_SCAN = 2 * SAMPLES_PER_PIECE, 30.0
"""records of a piece that a scan of the archive finds, and its seconds: beyond, the kind is brought back"""
MAX_SUBJECTS = 50
MAX_POINTS = 2_000
"""of one subject"""
MAX_MARKED = 500
"""of these, points that begin or end a gap or have a text"""


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


def back_test(cluster: Cluster, spec: RuleSpec, start: float, stop: float) -> BackTest:
    """Evaluates `spec` over [start, stop), in seconds on the scheduler's clock, for a live or ended cluster.

    The window is evaluated in pieces, so that only the data of one is in memory. Raises BackTestError.
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
        outcomes = _joined([evaluate_all_subjects(data, spec) for data in windows])
    results = [SubjectResult(outcome, advance(None, outcome, stop, spec.hold)[0]) for outcome in outcomes]
    results.sort(key=lambda each: (bool(each.firings), _extreme(spec, each.outcome)), reverse=True)
    return BackTest(
        start,
        stop,
        [replace(each, outcome=thinned(each.outcome)) for each in results[:MAX_SUBJECTS]],
        max(0, len(results) - MAX_SUBJECTS),
        [each for result in results for each in durations(result.firings, stop)],
        [each for result in results for each in too_short(result.outcome, result.firings, stop)],
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
    length = _length(connection, cluster, spec, start, stop)
    while start < stop:
        end = min(start + length, stop)
        data = WindowData(connection, cluster, start, end)
        with scanned(connection, cluster.pk, scanned_conditions(data, spec), MOST_SCANNED, LONGEST_SCAN):
            yield data
        start = end


def _length(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float
) -> float:
    """The seconds of one piece. Raises BackTestError if the whole window has too much data."""
    conditions = [each for each in spec.conditions if isinstance(each, MetricCondition)]
    sides = [side for each in conditions for side in (each.selector, each.other)]
    selectors = [side for side in sides if isinstance(side, Selector)]
    past = max((selector.window for selector in selectors), default=0.0)
    window = round((start - past) * SECOND), round(stop * SECOND)
    metrics = sorted({selector.metric for selector in selectors})
    samples = archived_sample_count(connection, cluster.pk, metrics, *window)
    if samples is None:
        samples = count_samples(connection, cluster.pk, metrics, *window, MAX_SAMPLES + 1)
    for metric in SENT_ON_CHANGE.intersection(metrics):
        samples += round(
            len(series_within(connection, {cluster.pk: window}, [metric])[cluster.pk]) * (stop - start)
        )
    if samples > MAX_SAMPLES:
        raise BackTestError(
            f"This window has more than {MAX_SAMPLES:,} samples of {', '.join(metrics)} for "
            f"{cluster.name}: choose a shorter one."
        )
    some = (stop - start) * SAMPLES_PER_PIECE / max(samples, 1)
    # a piece is at least as long as the past that it needs
    return max(1.0, past, min(MAX_PIECE, some))


def _joined(pieces: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """Joins the outcomes of consecutive pieces."""
    by_subject: dict[Subject, dict[int, Outcome]] = {}
    starts: dict[int, float] = {}
    for place, outcomes in enumerate(pieces):
        for outcome in outcomes:
            by_subject.setdefault(outcome.subject, {})[place] = outcome
            starts[place] = float(outcome.times[0])
    return [
        _concatenated([found.get(place) or _nothing(subject, starts[place]) for place in sorted(starts)])
        for subject, found in by_subject.items()
    ]


def _nothing(subject: Subject, start: float) -> Outcome:
    truths = np.array([Truth.FALSE], np.int8)
    return Outcome(subject, np.array([start]), truths, np.array([np.nan]), [""])


def _concatenated(outcomes: Sequence[Outcome]) -> Outcome:
    times = np.concatenate([outcome.times for outcome in outcomes])
    truths = np.concatenate([outcome.truths for outcome in outcomes])
    values = np.concatenate([outcome.values for outcome in outcomes])
    texts = np.array([text for outcome in outcomes for text in outcome.texts], object)
    # removes the step at the start of a piece if nothing changes there
    begins = np.cumsum([len(outcome.times) for outcome in outcomes])[:-1]
    same = (values[begins] == values[begins - 1]) | (np.isnan(values[begins]) & np.isnan(values[begins - 1]))
    same &= (truths[begins] == truths[begins - 1]) & (texts[begins] == texts[begins - 1])
    kept = np.ones(len(times), bool)
    kept[begins[same]] = False
    return Outcome(outcomes[0].subject, times[kept], truths[kept], values[kept], texts[kept].tolist())


def _extreme(spec: RuleSpec, outcome: Outcome) -> float:
    """How close the subject came to the threshold; greater is closer."""
    known = outcome.values[~np.isnan(outcome.values)]
    if not len(known):
        return -np.inf
    first = spec.conditions[0]
    if isinstance(first, MetricCondition) and first.comparison in (Comparison.BELOW, Comparison.AT_MOST):
        return -float(known.min())
    return float(known.max())


def thinned(outcome: Outcome) -> Outcome:
    """At most MAX_POINTS of its steps, which keep its shape, gaps and texts."""
    if len(outcome.times) <= MAX_POINTS:
        return outcome
    kept = np.unique(np.concatenate((_shape(outcome), _marked(outcome))))
    return Outcome(
        outcome.subject,
        outcome.times[kept],
        outcome.truths[kept],
        outcome.values[kept],
        [outcome.texts[place] for place in kept.tolist()],
    )


def _shape(outcome: Outcome) -> Integers:
    known = np.flatnonzero(np.isfinite(outcome.values))
    most = MAX_POINTS - MAX_MARKED
    if len(known) <= most:
        return known
    chosen = MinMaxLTTBDownsampler().downsample(outcome.times[known], outcome.values[known], n_out=most)
    return np.asarray(known[chosen.astype(np.int64)])


def _marked(outcome: Outcome) -> Integers:
    """Indexes at which gaps begin or end or the text changes, at most MAX_MARKED of them."""
    known = np.isfinite(outcome.values)
    texts = np.array(outcome.texts, object)
    changes = np.flatnonzero((known[1:] != known[:-1]) | (texts[1:] != texts[:-1])) + 1
    marked = np.concatenate(([0], changes))
    return marked[np.linspace(0, len(marked) - 1, min(len(marked), MAX_MARKED)).astype(np.int64)]
