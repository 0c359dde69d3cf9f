"""What a rule would have said of a cluster in any past window, by the judgement that is the evaluator's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import psycopg
from tsdownsample import MinMaxLTTBDownsampler

from observatory.alerts.judging.firings import Firing, advance
from observatory.alerts.judging.judge import judge_all
from observatory.alerts.judging.readings import Readings
from observatory.alerts.judging.steps import SECOND, Integers
from observatory.alerts.judging.verdicts import Level, Subject, Verdict
from observatory.alerts.rules.conditions import (
    Comparison,
    EventCondition,
    MetricCondition,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.connection import read_connection
from observatory.store.ingest.intervals import SENT_ON_CHANGE
from observatory.store.queries.alert_series import count_samples, series_within
from observatory.store.queries.timeline import snapshot

MOST_SAMPLES = 3_000_000
SAMPLES_AT_ONCE = 500_000
LONGEST_AT_ONCE = 86_400.0
"""seconds"""
MOST_SUBJECTS = 50
MOST_POINTS = 2_000
"""of a subject"""
MOST_KEPT = 500
"""of these, that are kept since they begin or end a gap, or have a text"""


class BackTestError(ValueError):
    """The message says why the window can't be judged, and what to do."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What the rule says of one subject."""

    verdict: Verdict
    """of its steps so many as can be drawn: the extremes stay"""
    firings: list[Firing]


@dataclass(frozen=True, slots=True)
class BackTest:
    """Those that fired come first, then those that came nearest to it."""

    start: float
    stop: float
    """seconds: the window, as far as the cluster was there"""
    tested: list[Tested] = field(default_factory=list)
    left_out: int = 0
    """subjects beyond MOST_SUBJECTS"""
    firings: int = 0
    """of all subjects"""


def back_test(cluster: Cluster, spec: RuleSpec, start: float, stop: float) -> BackTest:
    """What `spec` says of a cluster, live or ended, in [start, stop), in seconds on its scheduler's clock.

    It is judged in pieces: what is read of one is forgotten before the next. Raises BackTestError.
    """
    if not start < stop:
        raise BackTestError("The window ends before it begins: choose another.")
    start, stop = max(start, cluster.started.timestamp()), min(stop, _end(cluster, spec))
    if not start < stop:
        return BackTest(start, start)
    with read_connection() as connection, snapshot(connection):
        pieces = list(_pieces(connection, cluster, spec, start, stop))
    verdicts = _joined(pieces)
    tested = [Tested(verdict, advance(None, verdict, stop, spec.hold)[0]) for verdict in verdicts]
    tested.sort(key=lambda each: (bool(each.firings), _extreme(spec, each.verdict)), reverse=True)
    return BackTest(
        start,
        stop,
        [replace(each, verdict=drawable(each.verdict)) for each in tested[:MOST_SUBJECTS]],
        max(0, len(tested) - MOST_SUBJECTS),
        sum(len(each.firings) for each in tested),
    )


def _end(cluster: Cluster, spec: RuleSpec) -> float:
    """After which nothing happens: that of the cluster, but events count for a while after it."""
    if cluster.ended is None:
        return time.time()
    windows = [each.window for each in spec.conditions if isinstance(each, EventCondition)]
    return cluster.ended.timestamp() + max(windows, default=0.0) + 1.0


def _pieces(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float
) -> Iterator[list[Verdict]]:
    length = _length(connection, cluster, spec, start, stop)
    while start < stop:
        end = min(start + length, stop)
        yield judge_all(Readings(connection, cluster, start, end), spec)
        start = end


def _length(
    connection: psycopg.Connection, cluster: Cluster, spec: RuleSpec, start: float, stop: float
) -> float:
    """Seconds that are judged at once. Raises BackTestError where all is too much."""
    asked = [each for each in spec.conditions if isinstance(each, MetricCondition)]
    selectors = [one for each in asked for one in (each.selector, each.divisor) if isinstance(one, Selector)]
    past = max((selector.window for selector in selectors), default=0.0)
    window = round((start - past) * SECOND), round(stop * SECOND)
    metrics = sorted({selector.metric for selector in selectors})
    samples = count_samples(connection, cluster.pk, metrics, *window, MOST_SAMPLES + 1)
    for metric in SENT_ON_CHANGE.intersection(metrics):
        samples += round(len(series_within(connection, cluster.pk, [metric], *window)) * (stop - start))
    if samples > MOST_SAMPLES:
        raise BackTestError(
            f"There are more than {MOST_SAMPLES:,} samples of {', '.join(metrics)} in this window of "
            f"{cluster.name}: choose a shorter one."
        )
    some = (stop - start) * SAMPLES_AT_ONCE / max(samples, 1)
    # what a piece looks back at isn't to be more than the piece
    return max(1.0, past, min(LONGEST_AT_ONCE, some))


def _joined(pieces: Sequence[Sequence[Verdict]]) -> list[Verdict]:
    """The verdicts of pieces of a window, one after the other, as those of all of it."""
    by_subject: dict[Subject, dict[int, Verdict]] = {}
    starts: dict[int, float] = {}
    for place, verdicts in enumerate(pieces):
        for verdict in verdicts:
            by_subject.setdefault(verdict.subject, {})[place] = verdict
            starts[place] = float(verdict.times[0])
    return [
        _concatenated([found.get(place) or _nothing(subject, starts[place]) for place in sorted(starts)])
        for subject, found in by_subject.items()
    ]


def _nothing(subject: Subject, start: float) -> Verdict:
    levels = np.array([Level.NOT], np.int8)
    return Verdict(subject, np.array([start]), levels, np.array([np.nan]), [""])


def _concatenated(verdicts: Sequence[Verdict]) -> Verdict:
    times = np.concatenate([verdict.times for verdict in verdicts])
    levels = np.concatenate([verdict.levels for verdict in verdicts])
    values = np.concatenate([verdict.values for verdict in verdicts])
    texts = np.array([text for verdict in verdicts for text in verdict.texts], object)
    # each piece begins with a step, whether something changes there or not
    begins = np.cumsum([len(verdict.times) for verdict in verdicts])[:-1]
    same = (values[begins] == values[begins - 1]) | (np.isnan(values[begins]) & np.isnan(values[begins - 1]))
    same &= (levels[begins] == levels[begins - 1]) & (texts[begins] == texts[begins - 1])
    kept = np.ones(len(times), bool)
    kept[begins[same]] = False
    return Verdict(verdicts[0].subject, times[kept], levels[kept], values[kept], texts[kept].tolist())


def _extreme(spec: RuleSpec, verdict: Verdict) -> float:
    """How near the subject came to the threshold: the greater, the nearer."""
    known = verdict.values[~np.isnan(verdict.values)]
    if not len(known):
        return -np.inf
    first = spec.conditions[0]
    if isinstance(first, MetricCondition) and first.comparison in (Comparison.BELOW, Comparison.AT_MOST):
        return -float(known.min())
    return float(known.max())


def drawable(verdict: Verdict) -> Verdict:
    """At most MOST_POINTS steps of it: those that its shape, its gaps and its texts need."""
    if len(verdict.times) <= MOST_POINTS:
        return verdict
    kept = np.unique(np.concatenate((_shape(verdict), _marked(verdict))))
    return Verdict(
        verdict.subject,
        verdict.times[kept],
        verdict.levels[kept],
        verdict.values[kept],
        [verdict.texts[place] for place in kept.tolist()],
    )


def _shape(verdict: Verdict) -> Integers:
    known = np.flatnonzero(np.isfinite(verdict.values))
    most = MOST_POINTS - MOST_KEPT
    if len(known) <= most:
        return known
    chosen = MinMaxLTTBDownsampler().downsample(verdict.times[known], verdict.values[known], n_out=most)
    return np.asarray(known[chosen.astype(np.int64)])


def _marked(verdict: Verdict) -> Integers:
    """Where gaps begin and end, and where there is another text; of many, evenly some."""
    known = np.isfinite(verdict.values)
    texts = np.array(verdict.texts, object)
    changes = np.flatnonzero((known[1:] != known[:-1]) | (texts[1:] != texts[:-1])) + 1
    marked = np.concatenate(([0], changes))
    return marked[np.linspace(0, len(marked) - 1, min(len(marked), MOST_KEPT)).astype(np.int64)]
