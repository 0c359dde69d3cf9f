"""Where a window is cut doesn't matter, and what the arrays say is what the definitions say."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from observatory.alerts.evaluation.window.bounds import holds_nowhere
from observatory.alerts.evaluation.window.evaluate import evaluate_all_subjects
from observatory.alerts.evaluation.window.outcomes import CLUSTER, Outcome, Truth
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing, advance
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    MetricCondition,
    NoData,
    Operation,
    RuleSpec,
    Selector,
)
from observatory.alerts.rules.events import UNREACHABLE, WORKER_PAUSED
from observatory.alerts.silences.matchers import parse_matchers
from observatory.wire.records import Event, MetricType, Sample, Series, WorkerSeen
from tests.alerts.evaluation.window.conftest import START, Stored, above, name_of, rule

seconds = st.integers(0, 60 * 4).map(lambda quarter: quarter / 4)
truths = st.sampled_from(list(Truth))
steps = st.lists(st.tuples(seconds, truths), max_size=30).map(lambda each: sorted(dict(each).items()))


def verdict_of(found: list[tuple[float, Truth]], start: float, stop: float) -> Outcome:
    """The steps within a window."""
    before = [(time, level) for time, level in found if time <= start]
    within = [before[-1] if before else (0.0, Truth.FALSE)]
    within += [(time, level) for time, level in found if start < time < stop]
    times, said = zip(*within, strict=True)
    since = np.maximum(times, start)
    return Outcome(CLUSTER, since, np.array(said, np.int8), np.array(times), list(map(str, times)))


def advanced(found: list[tuple[float, Truth]], hold: float, *cuts: float) -> list[Firing]:
    active: ActiveAlert | None = None
    by_fired: dict[float, Firing] = {}
    for start, stop in pairwise(cuts):
        firings, active = advance(active, verdict_of(found, start, stop), stop, hold)
        by_fired |= {firing.fired: firing for firing in firings}
    return list(by_fired.values())


@settings(deadline=None, derandomize=True)
@given(steps, st.integers(0, 40).map(lambda quarter: quarter / 4), st.lists(seconds, max_size=6))
def test_the_state_machine_is_independent_of_window_cuts(
    found: list[tuple[float, Truth]], hold: float, cuts: list[float]
) -> None:
    assert advanced(found, hold, 0, *sorted({*cuts} - {0.0, 61.0}), 61) == advanced(found, hold, 0, 61)


@settings(deadline=None, derandomize=True)
@given(steps, st.integers(0, 40).map(lambda quarter: quarter / 4))
def test_the_state_machine_equals_a_step_by_step_simulation(
    found: list[tuple[float, Truth]], hold: float
) -> None:
    expected: list[tuple[float, float, float | None]] = []
    pending: float | None = None
    fired: float | None = None
    level = Truth.FALSE
    for quarter in range(61 * 4):
        now = quarter / 4
        level = dict(found).get(now, level)
        if level is Truth.FALSE:
            if pending is not None and fired is not None:
                expected.append((pending, fired, now))
            pending = fired = None
        elif level is Truth.TRUE and pending is None:
            pending = now
        if pending is not None and fired is None and now >= pending + hold:
            fired = now
    if pending is not None and fired is not None:
        expected.append((pending, fired, None))
    firings = advanced(found, hold, 0, 61)
    assert [(firing.pending, firing.fired, firing.resolved) for firing in firings] == expected


LENGTH = 150.0
EXAMPLES = 40


@dataclass(frozen=True)
class Told:
    """Values by time (seconds after START), of counters and gauges, of workers and the cluster."""

    series: dict[tuple[str, str, str], dict[float, float]]
    """by metric, worker and label"""
    lives: dict[str, tuple[float, float | None]]


def a_recording(random: np.random.Generator) -> Told:
    series: dict[tuple[str, str, str], dict[float, float]] = {}
    lives: dict[str, tuple[float, float | None]] = {
        "w0": (0.0, None),
        "w1": (20.37, 101.123456),
        "w2": (0.5, 60.0),
    }
    for worker, (began, ended) in {**lives, "": (0.0, None)}.items():
        for metric in ("gauge", "bytes_total"):
            for label in ("a", "b"):
                times = began + np.cumsum(random.exponential(4.0, 60))
                times = np.round(times[times < (ended or LENGTH)], 6)
                values = np.round(random.uniform(0, 10, len(times)), 3)
                if metric == "bytes_total":
                    values = np.cumsum(values) % 40  # begins again now and then
                # a silence, in which there is no data
                silent = random.uniform(20, 100)
                kept = (times < silent) | (times > silent + 25)
                series[metric, worker, label] = dict(
                    zip(times[kept].tolist(), values[kept].tolist(), strict=True)
                )
    return Told(series, lives)


@pytest.fixture
def notified(stored: Stored) -> Told:
    recording = a_recording(np.random.default_rng(3))
    samples: list[Sample] = []
    for (metric, worker, label), values in recording.series.items():
        type = MetricType.COUNTER if metric == "bytes_total" else MetricType.GAUGE
        series = Series(metric, (("label", label),), worker, type)
        samples += [Sample(series, START + time, value) for time, value in values.items()]
    stealing = Series("observatory_stealing_requests_total", type=MetricType.COUNTER)
    stolen = {5.5: 1.0, 50.5: 9.0, 51.5: 30.0, 120.5: 2.0}
    samples += [Sample(stealing, START + time, value) for time, value in stolen.items()]
    heard = [second for second in range(150) if not 70 < second < 100]
    samples += [Sample(Series("observatory_cluster_threads"), START + second, 3.0) for second in heard]
    events = [
        Event(START + time, "worker-status", worker, {"message": f"{worker} {status}", "status": status})
        for time, worker, status in ((30.5, "w0", "paused"), (80.25, "w0", "running"), (40, "w2", "paused"))
    ]
    events += [
        Event(START + time, "worker-restarted", "w0", {"message": f"at {time}"})
        for time in (15, 18.5, 90, 91, 140)
    ]
    events.append(Event(START + 60, "scheduler-unreachable", "", {"message": "away"}))
    events.append(Event(START + 110.5, "scheduler-reachable", "", {"message": "back"}))
    lives = recording.lives.items()
    stored.write(
        workers=[
            WorkerSeen(name, name, "h", 2, 0 if name == "w2" else 20, START + began)
            for name, (began, _) in lives
        ],
        samples=samples,
        events=events,
    )
    for name, (_, ended) in lives:
        if ended is not None:
            stored.leaves(name, ended)
    return recording


MATCHERS = [parse_matchers(text) for text in ("", 'label="a"', 'worker=~"w[01]"')]


def selectors() -> st.SearchStrategy[Selector]:
    return st.builds(
        Selector,
        st.sampled_from(["gauge", "bytes_total", "observatory_stealing_requests_total"]),
        st.sampled_from(MATCHERS),
        st.sampled_from(list(Function)),
        st.sampled_from([1.0, 7.5, 30.0, 100.0]),
    )


def conditions() -> st.SearchStrategy[Any]:
    happenings = [WORKER_PAUSED.name, UNREACHABLE.name, "worker-restarted"]
    events = st.builds(
        EventCondition,
        st.sampled_from(happenings),
        st.sampled_from([By.WORKER, By.CLUSTER]),
        st.integers(1, 2),
        st.sampled_from([5.0, 40.0]),
    )
    metrics = st.builds(
        above,
        st.floats(-2, 15),
        selector=selectors(),
        by=st.sampled_from(list(By)),
        aggregate=st.sampled_from(list(Aggregate)),
        quantile=st.sampled_from([0.3, 0.9]),
        comparison=st.sampled_from(list(Comparison)),
        other=st.one_of(st.none(), st.sampled_from(list(Attribute)), selectors()),
        operation=st.sampled_from(list(Operation)),
    )
    return st.one_of(metrics, metrics, metrics, events)


specs = st.builds(
    lambda conditions, hold, no_data: RuleSpec(tuple(conditions), hold, no_data),
    st.lists(conditions(), min_size=1, max_size=2),
    st.sampled_from([0.0, 3.0, 17.5]),
    st.sampled_from(list(NoData)),
)
cuts = st.lists(st.integers(1, 10 * 149).map(lambda tenth: tenth / 10), max_size=5, unique=True)


def test_the_evaluation_of_stored_data_is_independent_of_window_cuts(stored: Stored, notified: Told) -> None:
    @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(specs, cuts)
    def the_same(spec: RuleSpec, cuts: list[float]) -> None:
        # in their words, for a value may be nan
        assert str(stored.firings(spec, 0, *sorted(cuts), 150)) == str(stored.firings(spec, 0, 150))

    the_same()


def test_a_rule_that_holds_nowhere_by_its_bounds_is_true_nowhere(stored: Stored, notified: Told) -> None:
    proven: Counter[Function] = Counter()

    values = st.builds(Selector, st.just("gauge"), st.sampled_from(MATCHERS))
    conditions = st.builds(
        above,
        st.floats(-80, 80),
        selector=st.one_of(values, selectors()),
        by=st.sampled_from(list(By)),
        aggregate=st.sampled_from(list(Aggregate)),
        quantile=st.sampled_from([0.3, 0.9]),
        comparison=st.sampled_from(list(Comparison)),
        other=st.one_of(st.none(), st.sampled_from(list(Attribute)), values),
    )
    held = st.sampled_from([NoData.RESOLVE, NoData.KEEP])

    @settings(max_examples=500, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.builds(lambda condition, no_data: RuleSpec((condition,), 0.0, no_data), conditions, held),
        st.tuples(seconds, st.integers(1, 90)),
    )
    def true_nowhere(spec: RuleSpec, window: tuple[float, int]) -> None:
        start, length = window
        data = stored.data(start, start + length)
        data.load((spec,))
        if holds_nowhere(data, spec):
            [condition] = spec.conditions
            assert isinstance(condition, MetricCondition)
            proven[condition.selector.function] += 1
            outcomes = evaluate_all_subjects(data, spec)
            assert not any((outcome.truths == Truth.TRUE).any() for outcome in outcomes)

    true_nowhere()
    assert min(proven[function] for function in Function) > 20


@pytest.mark.parametrize("comparison", [each for each in Comparison if each is not Comparison.ABSENT])
@pytest.mark.parametrize("by", list(By))
def test_rules_on_values_far_from_their_thresholds_are_known_to_hold_nowhere(
    stored: Stored, notified: Told, comparison: Comparison, by: By
) -> None:
    far = {Comparison.ABOVE: 1e6, Comparison.AT_LEAST: 1e6, Comparison.EQUAL: 1e6}.get(comparison, -1e6)
    conditions = [
        above(far, selector=selector, by=by, comparison=comparison, aggregate=aggregate, other=other)
        for selector in (Selector("gauge"), Selector("bytes_total", (), Function.RATE, 20.0))
        for aggregate in Aggregate
        for other in (None, Attribute.NTHREADS)
    ]
    data = stored.data(30, 60)
    known = [rule(condition) for condition in conditions]
    data.load(known)
    expected = comparison is not Comparison.NOT_EQUAL
    assert [holds_nowhere(data, each) for each in known] == [expected] * len(known)
    fires = rule(conditions[0], no_data=NoData.FIRE)
    assert not holds_nowhere(data, fires)


# -- the definitions once more, an instant at a time


def value_at(values: dict[float, float], selector: Selector, time: float, is_counter: bool) -> float:
    """Of a series without its end, at `time`; nan: no data."""
    before = [at for at in values if at <= time]
    if not before or max(before) + 15 <= time:
        return math.nan
    at = max(before)
    if selector.function == Function.VALUE:
        return values[at]
    then = [each for each in values if each <= at - selector.window]
    base = max(then) if then and max(then) >= at - selector.window - 15 else None
    if base is None:
        base = min((each for each in values if at - selector.window < each), default=at)
    if base >= at:
        return math.nan
    change = values[at] - values[base]
    if is_counter:
        notified = sorted(each for each in values if base <= each <= at)
        change += sum(values[one] for one, next in pairwise(notified) if values[next] < values[one])
    return change if selector.function == Function.CHANGE else change / (at - base)


def aggregate_of(values: list[float], aggregate: Aggregate) -> float:
    if not values:
        return math.nan
    match aggregate:
        case Aggregate.SUM:
            return sum(values)
        case Aggregate.MEAN:
            return sum(values) / len(values)
        case Aggregate.MIN:
            return min(values)
        case Aggregate.MAX:
            return max(values)
    return float(np.quantile(values, 0.3))


@pytest.mark.parametrize("function", list(Function))
@pytest.mark.parametrize("metric", ["gauge", "bytes_total"])
def test_the_evaluation_equals_a_reference_implementation(
    stored: Stored, notified: Told, metric: str, function: Function
) -> None:
    selector = Selector(metric, (), function, 20.0)
    instants = np.round(np.random.default_rng(1).uniform(30, LENGTH, 40), 2).tolist()
    for by in (By.WORKER, By.CLUSTER):
        for aggregate in Aggregate:
            condition = above(0, selector=selector, by=by, aggregate=aggregate, quantile=0.3)
            outcomes = evaluate_all_subjects(stored.data(30, LENGTH), rule(condition))
            for outcome in outcomes:
                worker = name_of(outcome.subject)
                for instant in instants:
                    place = np.searchsorted(outcome.times, START + instant, side="right") - 1
                    expected = expected_at(notified, selector, by, aggregate, worker, instant)
                    assert outcome.values[place] == pytest.approx(expected, nan_ok=True, rel=1e-9, abs=1e-9)


def expected_at(
    notified: Told, selector: Selector, by: By, aggregate: Aggregate, worker: str, instant: float
) -> float:
    found = []
    for (metric, of, _), values in notified.series.items():
        if metric != selector.metric or (by == By.WORKER and of != worker):
            continue
        # of the whole cluster, what workers told counts from the next whole second on
        time = math.floor(instant) if by == By.CLUSTER and of else instant
        ended = notified.lives[of][1] if of else None
        if ended is None or time < ended:
            found.append(value_at(values, selector, time, metric == "bytes_total"))
    return aggregate_of([value for value in found if not math.isnan(value)], aggregate)
