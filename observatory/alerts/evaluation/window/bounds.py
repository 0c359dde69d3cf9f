"""Proves cheaply that a rule holds nowhere in a window, from the least and the largest of the samples
or, for rates and changes, of the steps between them.

Most rules hold nowhere most of the time. Of a thousand clusters this costs a fraction of computing what each
subject has at each instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.metrics import attribute_of
from observatory.alerts.evaluation.window.samples import MetricSamples
from observatory.alerts.evaluation.window.steps import SECOND
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    NoData,
    Operation,
    RuleSpec,
    Selector,
)
from observatory.wire.records import MetricType

ROUNDING = 1e-9
"""by which sums and means may be outside of their bounds, as a share of these"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """All values are in [low, high]; there are none if low is greater."""

    low: float
    high: float


NOTHING = Bounds(math.inf, -math.inf)
NEVER: dict[Comparison, Callable[[Bounds, float, float], bool]] = {
    Comparison.ABOVE: lambda bounds, threshold, margin: bounds.high < threshold - margin,
    Comparison.AT_LEAST: lambda bounds, threshold, margin: bounds.high < threshold - margin,
    Comparison.BELOW: lambda bounds, threshold, margin: bounds.low > threshold + margin,
    Comparison.AT_MOST: lambda bounds, threshold, margin: bounds.low > threshold + margin,
    Comparison.EQUAL: lambda bounds, threshold, margin: (
        not bounds.low - margin <= threshold <= bounds.high + margin
    ),
}


def holds_nowhere(data: WindowData, spec: RuleSpec) -> bool:
    """Whether the rule is certainly TRUE nowhere in the window; False says nothing."""
    if spec.no_data is NoData.FIRE:
        return False
    return any(isinstance(each, MetricCondition) and _is_never_true(data, each) for each in spec.conditions)


def _is_never_true(data: WindowData, condition: MetricCondition) -> bool:
    never = NEVER.get(condition.comparison)
    if never is None or (bounds := _bounds(data, condition)) is None:
        return False
    if bounds == NOTHING:
        return True
    margin = ROUNDING * max(abs(bounds.low), abs(bounds.high), abs(condition.threshold))
    return math.isfinite(margin) and never(bounds, condition.threshold, margin)


def _bounds(data: WindowData, condition: MetricCondition) -> Bounds | None:
    """Those of the values that are compared with the threshold; None: not known."""
    bounds = _of_selector(data, condition.selector, condition)
    if bounds is None or condition.other is None:
        return bounds
    if condition.operation is not Operation.DIVIDE:
        return None
    divisors = (
        _of_attribute(data, condition.other, condition.by)
        if isinstance(condition.other, Attribute)
        else _of_divisor(data, condition.other, condition)
    )
    if divisors is None:
        return None
    if NOTHING in (bounds, divisors):
        return NOTHING
    return Bounds(
        bounds.low / (divisors.low if bounds.low < 0 else divisors.high),
        bounds.high / (divisors.low if bounds.high > 0 else divisors.high),
    )


def _of_selector(data: WindowData, selector: Selector, condition: MetricCondition) -> Bounds | None:
    """Those of the aggregated values of a metric."""
    samples = data.samples(selector.metric).matching(selector)
    bounds = _of_values(samples) if selector.function is Function.VALUE else _of_changes(samples, selector)
    if bounds is None:
        return None
    if condition.aggregate is not Aggregate.SUM or bounds == NOTHING:
        return bounds
    many = _most_summed(samples, condition.by)
    return Bounds(
        bounds.low * (many if bounds.low < 0 else 1), bounds.high * (many if bounds.high > 0 else 1)
    )


def _of_divisor(data: WindowData, selector: Selector, condition: MetricCondition) -> Bounds | None:
    """Those of the values that aren't 0, by which nothing is divided; None: not known."""
    if selector.function is not Function.VALUE:
        return None
    samples = data.samples(selector.metric).matching(selector)
    bounds = _of_values(samples)
    if bounds == NOTHING:
        return NOTHING
    if bounds.low < 0 or (bounds.low == 0 and condition.aggregate is Aggregate.QUANTILE):
        return None
    positive = samples.values[samples.values > 0]
    if not len(positive):
        return NOTHING
    many = len(samples.series)  # of the cluster, if no worker has it
    least = float(positive.min())
    return Bounds(least / many if condition.aggregate is Aggregate.MEAN else least, bounds.high * many)


def _of_values(samples: MetricSamples) -> Bounds:
    known = samples.values[~np.isnan(samples.values)]
    return Bounds(float(known.min()), float(known.max())) if len(known) else NOTHING


def _of_changes(samples: MetricSamples, selector: Selector) -> Bounds | None:
    """Those of rates and changes, from the steps between samples; None: some values are missing.

    A rate is a mean of the slopes of its steps, a change is their sum.
    """
    if np.isnan(samples.values).any():
        return None
    is_step = samples.of[1:] == samples.of[:-1]
    if not is_step.any():
        return NOTHING
    of, before, after = samples.of[1:][is_step], samples.values[:-1][is_step], samples.values[1:][is_step]
    is_counter = np.array([series.stored.type == MetricType.COUNTER for series in samples.series])
    steps = np.where(is_counter[of] & (after < before), after, after - before)
    error = ROUNDING * float(np.abs(samples.values).max())
    if selector.function is Function.RATE:
        seconds = np.diff(samples.times)[is_step] / SECOND
        steps, error = steps / seconds, error / float(seconds.min())
        return Bounds(float(steps.min()) - error, float(steps.max()) + error)
    rises, falls = (np.bincount(of, some) for some in (np.maximum(steps, 0), np.minimum(steps, 0)))
    return Bounds(float(falls.min()) - error, float(rises.max()) + error)


def _most_summed(samples: MetricSamples, by: By) -> int:
    """The most series that are summed for a subject, or more."""
    if by is By.SERIES:
        return 1
    workers = {series.stored.worker for series in samples.series}
    return 1 if by is By.WORKER and len(workers) == len(samples.series) else len(samples.series)


def _of_attribute(data: WindowData, attribute: Attribute, by: By) -> Bounds:
    """Those of an attribute of the workers, or of its sum over them, where it is set."""
    amounts = [amount for worker in data.workers.values() if (amount := attribute_of(worker, attribute)) > 0]
    if not amounts:
        return NOTHING
    return Bounds(min(amounts), sum(amounts) if by is By.CLUSTER else max(amounts))
