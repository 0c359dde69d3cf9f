"""PromQL → conditions, as far as our rules can ask what the expression asks.

`comparison and comparison …`; each compares with a number an aggregated metric, or one divided by another:
`sum by (instance) (rate(metric{label="value"}[5m])) / … > 0.5`. A metric without an aggregation is of each
series, one aggregated by what tells workers apart (labels.py) of each worker, any other of the cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import promql_parser as promql

from observatory.alerts.models import DAY
from observatory.alerts.prometheus.labels import OF_CLUSTERS, OF_WORKERS, THREADS
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    Selector,
)
from observatory.alerts.rules.validation import MOST_CONDITIONS
from observatory.alerts.silences.matchers import MOST, Matcher, MatcherError, check_pattern

LONGEST = 2_000
DEEPEST = 100
"""operators and brackets: the parser calls itself for each, and has the process's stack for it"""
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


class Unfit(ValueError):
    """What our rules can't ask: the part of the expression, and why."""

    def __init__(self, part: promql.Expr | str, why: str) -> None:
        text = part if isinstance(part, str) else part.prettify()
        self.part = " ".join(text.split())[:200]
        self.why = why
        super().__init__(f"{self.part}: {why}")


@dataclass(frozen=True, slots=True)
class Conditions:
    conditions: tuple[MetricCondition, ...]
    notes: tuple[str, ...]
    """what became another than it was written"""


@dataclass(frozen=True, slots=True)
class _Side:
    """What is compared, times `factor`."""

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
    """Raises Unfit."""
    if len(text) > LONGEST or len(NESTING.findall(text)) > DEEPEST:
        raise Unfit(text, f"is longer than {LONGEST} characters, or has over {DEEPEST} operators")
    try:
        expression = promql.parse(text)
    except ValueError as error:
        raise Unfit(text, f"is no PromQL: {error}") from None
    reader = _Reader()
    return Conditions(tuple(reader.conditions(expression)), tuple(dict.fromkeys(reader.notes)))


@dataclass(slots=True)
class _Reader:
    notes: list[str] = field(default_factory=list)

    def conditions(self, expression: promql.Expr) -> list[MetricCondition]:
        parts = list(_conjunction(expression))
        if len(parts) > MOST_CONDITIONS:
            raise Unfit(expression, f"has over {MOST_CONDITIONS} conditions")
        read = [self._condition(part) for part, _ in parts]
        for condition, (part, joined) in zip(read[1:], parts[1:], strict=True):
            _check_joined(part, read[0].by, condition.by, joined)
        return read

    def _condition(self, expression: promql.Expr) -> MetricCondition:
        if not isinstance(expression, promql.BinaryExpr) or str(expression.op) not in COMPARISONS:
            raise Unfit(expression, "isn't above or below a number")
        if expression.modifier is not None and expression.modifier.return_bool:
            raise Unfit(expression, "“bool” gives 0 or 1, which our rules don't have")
        comparison = COMPARISONS[str(expression.op)]
        compared, threshold = expression.lhs, _number(expression.rhs)
        if threshold is None:
            compared, threshold = expression.rhs, _number(expression.lhs)
            comparison = MIRRORED[comparison]
        if threshold is None or not math.isfinite(threshold):
            raise Unfit(expression, "isn't compared with a number; divide one metric by the other instead")
        side = self._side(compared)
        if side.factor != 1:
            self.notes.append(
                f"the threshold {threshold:g} became {threshold / side.factor:g}, without the factor"
            )
        return MetricCondition(
            selector=side.selector,
            by=side.by,
            aggregate=side.aggregate,
            comparison=comparison,
            threshold=threshold / side.factor,
            quantile=side.quantile,
            divisor=side.divisor,
        )

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
                raise Unfit(expression, "is multiplied by, or divided by, what isn't a number above 0")
            side = self._side(left)
            return replace(side, factor=side.factor * factor if operator == "*" else side.factor / factor)
        if operator != "/":
            raise Unfit(expression, f"“{operator}” isn't something that our rules can ask; they divide")
        return self._divided(expression)

    def _divided(self, expression: promql.BinaryExpr) -> _Side:
        side, divisor = self._side(expression.lhs), self._side(expression.rhs)
        if side.divisor is not None or divisor.divisor is not None:
            raise Unfit(expression, "divides more than once")
        labels = _matched(expression)
        if labels is not None and labels & OF_WORKERS:
            side, divisor = _of_worker(side), _of_worker(divisor)
        if side.by is not divisor.by:
            raise Unfit(expression, "divides what is of different things; aggregate both by the same labels")
        factor = side.factor / divisor.factor
        if divisor.selector == Selector(THREADS) and side.by is not By.SERIES:
            if Aggregate.SUM not in (divisor.aggregate, side.aggregate):
                raise Unfit(expression, "divides by threads that aren't summed up")
            return replace(side, divisor=Attribute.NTHREADS, factor=factor)
        if side.aggregation != divisor.aggregation:
            raise Unfit(expression, "divides what is aggregated in different ways")
        if (side.selector.function, side.selector.window) != (
            divisor.selector.function,
            divisor.selector.window,
        ):
            raise Unfit(expression, "divides a rate or change by what isn't one over the same window")
        return replace(side, divisor=divisor.selector, factor=factor)

    def _aggregated(self, expression: promql.Expr) -> _Side:
        if not isinstance(expression, promql.AggregateExpr):
            return _Side(self._selector(expression), By.SERIES)
        aggregate = AGGREGATES.get(str(expression.op))
        if aggregate is None:
            raise Unfit(expression, f"“{expression.op}” isn't something that our rules can ask")
        by = _by(expression)
        selector = self._selector(_bare(expression.expr))
        if aggregate is not Aggregate.QUANTILE:
            return _Side(selector, by, aggregate)
        quantile = _number(expression.param)
        if quantile is None or not 0 <= quantile <= 1:
            raise Unfit(expression, "a quantile is a number from 0 to 1")
        return _Side(selector, by, aggregate, quantile)

    def _selector(self, expression: promql.Expr) -> Selector:
        if isinstance(expression, promql.VectorSelector):
            return self._series(expression)
        if not isinstance(expression, promql.Call):
            raise Unfit(expression, "isn't a metric, its rate or its change")
        function = FUNCTIONS.get(expression.func.name)
        if function is None:
            raise Unfit(expression, f"{expression.func.name} isn't something that our rules can ask")
        [argument] = expression.args
        if not isinstance(argument, promql.MatrixSelector):
            raise Unfit(expression, "is taken of what isn't a metric")
        window = argument.range.total_seconds()
        if not 1 <= window <= DAY:
            raise Unfit(expression, "a window has from a second to a day")
        series = self._series(argument.vector_selector)
        return replace(series, function=function, window=window)

    def _series(self, expression: promql.VectorSelector) -> Selector:
        if expression.offset is not None or expression.at is not None:
            raise Unfit(expression, "our rules ask how it is now, without “offset” or “@”")
        if expression.matchers.or_matchers:
            raise Unfit(expression, "“or” between labels isn't something that our rules can ask")
        names = [expression.name] if expression.name else []
        matchers: list[Matcher] = []
        for matcher in expression.matchers.matchers:
            if matcher.name == "__name__" and matcher.op == promql.MatchOp.Equal:
                names.append(matcher.value)
            elif matcher.name in OF_CLUSTERS:
                self.notes.append(
                    f"{matcher} was left out: the rule's targets and clusters say where it is asked"
                )
            else:
                matchers.append(_matcher(expression, matcher))
        if len(names) != 1 or names[0] == "up":
            raise Unfit(
                expression,
                "is Prometheus' own; ask for “the scheduler doesn't answer”"
                if names == ["up"]
                else "doesn't name one metric",
            )
        if len(matchers) > MOST:
            raise Unfit(expression, f"has over {MOST} labels")
        return Selector(names[0], tuple(matchers))


def _matcher(expression: promql.Expr, matcher: promql.Matcher) -> Matcher:
    if matcher.name in ("instance", "pod", "__name__"):
        raise Unfit(
            expression, f"our series don't have the label {matcher.name}; of workers it is worker, their name"
        )
    operator = next(operator for operation, operator in OPERATORS if operation == matcher.op)
    if "~" in operator:
        try:
            check_pattern(matcher.value)
        except MatcherError as error:
            raise Unfit(expression, str(error)) from None
    return Matcher(matcher.name, operator, matcher.value)


def _by(expression: promql.AggregateExpr) -> By:
    modifier = expression.modifier
    if modifier is not None and modifier.type != promql.AggModifierType.By:
        raise Unfit(expression, "“without” isn't something that our rules can ask; write “by”")
    labels = frozenset(modifier.labels) if modifier is not None else frozenset()
    if unknown := labels - OF_WORKERS - OF_CLUSTERS:
        raise Unfit(
            expression, f"our rules aggregate by worker or cluster, not by {', '.join(sorted(unknown))}"
        )
    return By.WORKER if labels & OF_WORKERS else By.CLUSTER


def _of_worker(side: _Side) -> _Side:
    """One series of each worker is also the sum of each worker's."""
    return replace(side, by=By.WORKER) if side.by is By.SERIES else side


def _conjunction(
    expression: promql.Expr, joined: promql.BinaryExpr | None = None
) -> Iterator[tuple[promql.Expr, promql.BinaryExpr | None]]:
    """What is joined by `and`, each with the expression that joins it to what is before."""
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
        raise Unfit(
            part, "isn't joined to what is before by what both are of: each worker, series, or “on ()”"
        )


def _matched(expression: promql.BinaryExpr) -> frozenset[str] | None:
    """The labels of `on (…)`; None: all."""
    modifier = expression.modifier
    if modifier is None:
        return None
    if modifier.card in (promql.VectorMatchCardinality.ManyToOne, promql.VectorMatchCardinality.OneToMany):
        raise Unfit(expression, "“group_left” and “group_right” aren't something that our rules can ask")
    if modifier.matching is None:
        return None
    labels = frozenset(modifier.matching.labels)
    if modifier.matching.type != promql.LabelModifierType.Include or labels - OF_WORKERS - OF_CLUSTERS:
        raise Unfit(expression, "our rules join by worker or cluster alone")
    return labels


def _bare(expression: promql.Expr) -> promql.Expr:
    while isinstance(expression, promql.ParenExpr):
        expression = expression.expr
    return expression


def _number(expression: promql.Expr | float | None) -> float | None:
    """Of a number, or of arithmetic of numbers alone."""
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
