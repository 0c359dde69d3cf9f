"""Converts PromQL expressions to conditions, as far as our rules support them.

Supported: `comparison and comparison …`. Each compares a number with an aggregated metric, or with the
quotient of two: `sum by (instance) (rate(metric{label="value"}[5m])) / … > 0.5`. A metric without an
aggregation is evaluated for each series, one aggregated by a label of workers (labels.py) for each worker,
any other for the cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import promql_parser as promql

from observatory.alerts.models import DAY
from observatory.alerts.prometheus.labels import OF_CLUSTERS, OF_WORKERS, THREADS, WORKER
from observatory.alerts.prometheus.metric_types import is_counter, may_be_counter
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    Selector,
)
from observatory.alerts.rules.validation import MAX_CONDITIONS
from observatory.alerts.silences.matchers import MAX_MATCHERS, Matcher, MatcherError, check_pattern

MAX_LENGTH = 2_000
MAX_OPERATORS = 100
"""operators and brackets; the parser is recursive and uses the process's stack"""
NESTING = re.compile(r"[-(+*/%^=<>\[]|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
COMPARISONS = {str(comparison): comparison for comparison in Comparison}
MIRRORED = {
    Comparison.ABOVE: Comparison.BELOW,
    Comparison.AT_LEAST: Comparison.AT_MOST,
    Comparison.BELOW: Comparison.ABOVE,
    Comparison.AT_MOST: Comparison.AT_LEAST,
}
AGGREGATES = {
    "sum": Aggregate.SUM,
    "avg": Aggregate.MEAN,
    "min": Aggregate.MIN,
    "max": Aggregate.MAX,
    "quantile": Aggregate.QUANTILE,
}
FUNCTIONS = {
    "rate": Function.RATE,
    "deriv": Function.RATE,
    "increase": Function.CHANGE,
    "delta": Function.CHANGE,
}
OPERATORS = (
    (promql.MatchOp.Equal, "="),
    (promql.MatchOp.NotEqual, "!="),
    (promql.MatchOp.Re, "=~"),
    (promql.MatchOp.NotRe, "!~"),
)


class Unsupported(ValueError):
    """A part of an expression that our rules don't support, and why."""

    def __init__(self, part: promql.Expr | str, why: str) -> None:
        text = part if isinstance(part, str) else part.prettify()
        self.part = " ".join(text.split())[:200]
        self.why = why
        super().__init__(f"{self.part}: {why}")


@dataclass(frozen=True, slots=True)
class Conditions:
    conditions: tuple[MetricCondition, ...]
    notes: tuple[str, ...]
    """differences from the expression"""
    is_scaled: bool
    """the first condition's value isn't multiplied by a factor that the expression has"""


@dataclass(frozen=True, slots=True)
class _Side:
    """The value that is compared, times `factor`."""

    selector: Selector
    by: By
    aggregate: Aggregate = Aggregate.SUM
    quantile: float = 0.5
    divisor: Selector | Attribute | None = None
    factor: float = 1.0

    @property
    def aggregation(self) -> tuple[Aggregate, float]:
        return self.aggregate, self.quantile


def read_expression(text: str) -> Conditions:
    """Raises Unsupported."""
    if len(text) > MAX_LENGTH or len(NESTING.findall(text)) > MAX_OPERATORS:
        raise Unsupported(
            text, f"is longer than {MAX_LENGTH:,} characters, or has more than {MAX_OPERATORS} operators"
        )
    try:
        expression = promql.parse(text)
    except ValueError as error:
        raise Unsupported(text, f"isn't valid PromQL: {error}") from None
    reader = _Reader()
    conditions = tuple(reader.conditions(expression))
    return Conditions(conditions, tuple(dict.fromkeys(reader.notes)), reader.is_scaled)


@dataclass(slots=True)
class _Reader:
    notes: list[str] = field(default_factory=list)
    is_scaled: bool = False

    def conditions(self, expression: promql.Expr) -> list[MetricCondition]:
        parts = list(_conjunction(expression))
        if len(parts) > MAX_CONDITIONS:
            raise Unsupported(expression, f"has more than {MAX_CONDITIONS} conditions")
        read: list[MetricCondition] = []
        for part, _ in parts:
            condition, factor = self._condition(part)
            self.is_scaled |= not read and factor != 1
            read.append(condition)
        for condition, (part, joined) in zip(read[1:], parts[1:], strict=True):
            _check_joined(part, read[0].by, condition.by, joined)
        return read

    def _condition(self, expression: promql.Expr) -> tuple[MetricCondition, float]:
        """And the factor of its value."""
        if not isinstance(expression, promql.BinaryExpr) or str(expression.op) not in COMPARISONS:
            raise Unsupported(expression, "isn't a comparison with a number")
        if expression.modifier is not None and expression.modifier.return_bool:
            raise Unsupported(expression, "“bool” isn't supported")
        comparison = COMPARISONS[str(expression.op)]
        compared, threshold = expression.lhs, _number(expression.rhs)
        if threshold is None:
            compared, threshold = expression.rhs, _number(expression.lhs)
            comparison = MIRRORED[comparison]
        if threshold is None or not math.isfinite(threshold):
            raise Unsupported(
                expression, "isn't compared with a number; divide one metric by the other instead"
            )
        side = self._side(compared)
        if side.factor != 1:
            self.notes.append(
                f"the factor was moved into the threshold: {threshold:g} became {threshold / side.factor:g}"
            )
        condition = MetricCondition(
            selector=side.selector,
            by=side.by,
            aggregate=side.aggregate,
            comparison=comparison,
            threshold=threshold / side.factor,
            quantile=side.quantile,
            divisor=side.divisor,
        )
        return condition, side.factor

    def _side(self, expression: promql.Expr) -> _Side:
        expression = _bare(expression)
        if not isinstance(expression, promql.BinaryExpr):
            return self._aggregated(expression)
        operator, left, right = str(expression.op), expression.lhs, expression.rhs
        factor = _number(right)
        if factor is None and operator == "*":
            left, right, factor = right, left, _number(left)
        if factor is not None and operator in ("*", "/"):
            if not (factor > 0 and math.isfinite(factor)):
                raise Unsupported(expression, "the factor isn't a number above 0")
            side = self._side(left)
            return replace(side, factor=side.factor * factor if operator == "*" else side.factor / factor)
        if operator != "/":
            raise Unsupported(expression, f"“{operator}” isn't supported; only division is")
        return self._divided(expression)

    def _divided(self, expression: promql.BinaryExpr) -> _Side:
        side, divisor = self._side(expression.lhs), self._side(expression.rhs)
        if side.divisor is not None or divisor.divisor is not None:
            raise Unsupported(expression, "divides more than once")
        labels = _matched(expression)
        if labels is not None and labels & OF_WORKERS:
            side, divisor = _of_worker(side), _of_worker(divisor)
        if side.by is not divisor.by:
            raise Unsupported(
                expression, "divides values of different subjects; aggregate both by the same labels"
            )
        factor = side.factor / divisor.factor
        if divisor.selector == Selector(THREADS) and side.by is not By.SERIES:
            if Aggregate.SUM not in (divisor.aggregate, side.aggregate):
                raise Unsupported(expression, "divides by threads that aren't summed")
            return replace(side, divisor=Attribute.NTHREADS, factor=factor)
        if side.aggregation != divisor.aggregation:
            raise Unsupported(expression, "divides values that are aggregated differently")
        if (side.selector.function, side.selector.window) != (
            divisor.selector.function,
            divisor.selector.window,
        ):
            raise Unsupported(
                expression, "divides a rate or change by a value without the same function and window"
            )
        return replace(side, divisor=divisor.selector, factor=factor)

    def _aggregated(self, expression: promql.Expr) -> _Side:
        if not isinstance(expression, promql.AggregateExpr):
            return _Side(self._selector(expression), By.SERIES)
        aggregate = AGGREGATES.get(str(expression.op))
        if aggregate is None:
            raise Unsupported(expression, f"the aggregation “{expression.op}” isn't supported")
        by = self._by(expression)
        selector = self._selector(_bare(expression.expr))
        if aggregate is not Aggregate.QUANTILE:
            return _Side(selector, by, aggregate)
        quantile = _number(expression.param)
        if quantile is None or not 0 <= quantile <= 1:
            raise Unsupported(expression, "a quantile is a number from 0 to 1")
        return _Side(selector, by, aggregate, quantile)

    def _selector(self, expression: promql.Expr) -> Selector:
        if isinstance(expression, promql.VectorSelector):
            return self._series(expression)
        if not isinstance(expression, promql.Call):
            raise Unsupported(expression, "isn't a metric, its rate or its change")
        function = FUNCTIONS.get(expression.func.name)
        if function is None:
            raise Unsupported(expression, f"the function {expression.func.name} isn't supported")
        [argument] = expression.args
        if not isinstance(argument, promql.MatrixSelector):
            raise Unsupported(expression, "isn't applied to a metric")
        window = argument.range.total_seconds()
        if not 1 <= window <= DAY:
            raise Unsupported(expression, "a window is from a second to a day")
        series = self._series(argument.vector_selector)
        self._note_function(expression.func.name, series.metric)
        return replace(series, function=function, window=window)

    def _note_function(self, name: str, metric: str) -> None:
        if name == "deriv":
            self.notes.append(
                "deriv(), a linear regression, became the change per second between the ends of the window"
            )
        elif name in ("rate", "increase") and not may_be_counter(metric):
            self.notes.append(
                f"{name}() of {metric}, a gauge, became its change"
                f"{' per second' if name == 'rate' else ''}: Prometheus reads each fall as a restart from 0"
            )
        elif name == "delta" and is_counter(metric):
            self.notes.append(f"delta() of {metric}, a counter, became its increase: restarts are added")

    def _by(self, expression: promql.AggregateExpr) -> By:
        modifier = expression.modifier
        if modifier is not None and modifier.type != promql.AggModifierType.By:
            raise Unsupported(expression, "“without” isn't supported; use “by (instance)” or no “by”")
        labels = frozenset(modifier.labels) if modifier is not None else frozenset()
        if unknown := labels - OF_WORKERS - OF_CLUSTERS:
            raise Unsupported(
                expression, f"aggregation is by worker or cluster, not by {', '.join(sorted(unknown))}"
            )
        self._note_labels("by", labels)
        return By.WORKER if labels & OF_WORKERS else By.CLUSTER

    def _note_labels(self, keyword: str, labels: frozenset[str]) -> None:
        """For labels of `by (…)` that our series don't have."""
        if of_clusters := sorted(labels & OF_CLUSTERS):
            self.notes.append(
                f"“{keyword} ({', '.join(of_clusters)})” is left out: rules are evaluated for each cluster"
            )
        if labels & OF_WORKERS - {WORKER, "worker"}:
            self.notes.append(f"“{keyword} (pod)” became each worker")

    def _series(self, expression: promql.VectorSelector) -> Selector:
        if expression.offset is not None or expression.at is not None:
            raise Unsupported(expression, "“offset” and “@” aren't supported")
        if expression.matchers.or_matchers:
            raise Unsupported(expression, "“or” between labels isn't supported")
        names = [expression.name] if expression.name else []
        matchers: list[Matcher] = []
        for matcher in expression.matchers.matchers:
            if matcher.name == "__name__" and matcher.op == promql.MatchOp.Equal:
                names.append(matcher.value)
            elif matcher.name in OF_CLUSTERS:
                self.notes.append(
                    f"{matcher} was left out: use the rule's projects, targets and cluster names"
                )
            else:
                matchers.append(_matcher(expression, matcher))
        if len(names) != 1 or names[0] == "up":
            raise Unsupported(
                expression,
                "is a metric of Prometheus itself; use the event “the scheduler doesn't answer”"
                if names == ["up"]
                else "doesn't name one metric",
            )
        if len(matchers) > MAX_MATCHERS:
            raise Unsupported(expression, f"has more than {MAX_MATCHERS} labels")
        return Selector(names[0], tuple(matchers))


def _matcher(expression: promql.Expr, matcher: promql.Matcher) -> Matcher:
    if matcher.name in ("instance", "pod", "__name__"):
        raise Unsupported(
            expression,
            f"our series don't have the label {matcher.name}; the label worker has a worker's name",
        )
    operator = next(operator for operation, operator in OPERATORS if operation == matcher.op)
    if "~" in operator:
        try:
            check_pattern(matcher.value)
        except MatcherError as error:
            raise Unsupported(expression, str(error)) from None
    return Matcher(matcher.name, operator, matcher.value)


def _of_worker(side: _Side) -> _Side:
    """A single series per worker equals the sum per worker."""
    return replace(side, by=By.WORKER) if side.by is By.SERIES else side


def _conjunction(
    expression: promql.Expr, joined: promql.BinaryExpr | None = None
) -> Iterator[tuple[promql.Expr, promql.BinaryExpr | None]]:
    """The operands of `and`, each with the expression that joins it to the previous ones."""
    expression = _bare(expression)
    if isinstance(expression, promql.BinaryExpr) and str(expression.op) == "and":
        yield from _conjunction(expression.lhs, joined)
        yield from _conjunction(expression.rhs, expression)
    else:
        yield expression, joined


def _check_joined(part: promql.Expr, first: By, by: By, joined: promql.BinaryExpr | None) -> None:
    labels = _matched(joined) if joined is not None else None
    if by is By.CLUSTER and first is not By.CLUSTER:
        fits = labels is not None and labels <= OF_CLUSTERS
    else:
        fits = by is first and (labels is None or by is By.CLUSTER or bool(labels & OF_WORKERS))
    if not fits:
        raise Unsupported(
            part, "isn't joined to the previous part by their common subject: worker, series, or “on ()”"
        )


def _matched(expression: promql.BinaryExpr) -> frozenset[str] | None:
    """The labels of `on (…)`; None: all labels."""
    modifier = expression.modifier
    if modifier is None:
        return None
    if modifier.card in (promql.VectorMatchCardinality.ManyToOne, promql.VectorMatchCardinality.OneToMany):
        raise Unsupported(expression, "“group_left” and “group_right” aren't supported")
    if modifier.matching is None:
        return None
    labels = frozenset(modifier.matching.labels)
    if modifier.matching.type != promql.LabelModifierType.Include or labels - OF_WORKERS - OF_CLUSTERS:
        raise Unsupported(expression, "only joins by worker or cluster are supported")
    return labels


def _bare(expression: promql.Expr) -> promql.Expr:
    while isinstance(expression, promql.ParenExpr):
        expression = expression.expr
    return expression


def _number(expression: promql.Expr | float | None) -> float | None:
    """The value of a number or of arithmetic on numbers; None for anything else."""
    if isinstance(expression, int | float):
        return float(expression)
    expression = _bare(expression) if expression is not None else None
    if isinstance(expression, promql.NumberLiteral):
        return float(expression.val)
    if isinstance(expression, promql.UnaryExpr):
        number = _number(expression.expr)
        return None if number is None else -number
    if isinstance(expression, promql.BinaryExpr):
        return _arithmetic(str(expression.op), [_number(expression.lhs), _number(expression.rhs)])
    return None


def _arithmetic(operator: str, numbers: Sequence[float | None]) -> float | None:
    left, right = numbers
    if left is None or right is None:
        return None
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right:
            return left / right
    return None
