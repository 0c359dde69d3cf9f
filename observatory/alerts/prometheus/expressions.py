"""Converts PromQL expressions to conditions, as far as our rules support them.

Supported: `comparison and comparison …`. Each compares an aggregated metric, or the quotient or difference of
two, with a number or another metric: `sum by (instance) (rate(metric{label="value"}[5m])) / … > 0.5`.
`absent(metric)` is the condition that the metric is missing, and `up == 0` is an event (scrapes.py).

A metric without an aggregation is evaluated for each series, one aggregated by a label of workers
(labels.py) for each worker, any other for the cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import promql_parser as promql

from observatory.alerts.prometheus.arithmetic import bare, number
from observatory.alerts.prometheus.labels import OF_CLUSTERS, OF_WORKERS
from observatory.alerts.prometheus.operands import Operand, OperandReader, combined, matched
from observatory.alerts.prometheus.refusals import OPERATORS, Unsupported, of_operator
from observatory.alerts.prometheus.scrapes import absent_up, up_condition
from observatory.alerts.rules.conditions import AnyCondition, By, Comparison, Operation
from observatory.alerts.rules.validation import MAX_CONDITIONS

MAX_LENGTH = 2_000
MAX_OPERATORS = 100
"""operators and brackets; the parser is recursive and uses the process's stack"""
NESTING = re.compile(r"[-(+*/%^=<>\[]|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
COMPARISONS: dict[str, Comparison] = {
    comparison.value: comparison for comparison in Comparison if comparison is not Comparison.ABSENT
}
MIRRORED = {
    Comparison.ABOVE: Comparison.BELOW,
    Comparison.AT_LEAST: Comparison.AT_MOST,
    Comparison.BELOW: Comparison.ABOVE,
    Comparison.AT_MOST: Comparison.AT_LEAST,
}
"""of those that aren't the same when both sides are exchanged"""


@dataclass(frozen=True, slots=True)
class Conditions:
    conditions: tuple[AnyCondition, ...]
    notes: tuple[str, ...]
    """differences from the expression"""
    is_scaled: bool
    """the first condition's value isn't multiplied by a factor that the expression has"""


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

    def conditions(self, expression: promql.Expr) -> list[AnyCondition]:
        parts = list(_conjunction(expression))
        if len(parts) > MAX_CONDITIONS:
            raise Unsupported(expression, f"has more than {MAX_CONDITIONS} conditions")
        read: list[AnyCondition] = []
        for part, joined in parts:
            condition, is_scaled = self._condition(part)
            if read:
                _check_joined(part, read[0].by, condition.by, joined)
            else:
                self.is_scaled = is_scaled
            read.append(condition)
        return read

    def _condition(self, expression: promql.Expr) -> tuple[AnyCondition, bool]:
        """And whether its value lacks a factor or number of the expression."""
        if isinstance(expression, promql.Call) and expression.func.name == "absent":
            return self._absent(expression), False
        if not isinstance(expression, promql.BinaryExpr) or str(expression.op) not in COMPARISONS:
            raise _no_comparison(expression)
        if expression.modifier is not None and expression.modifier.return_bool:
            raise Unsupported(expression, "“bool” isn't supported: a condition is true or false without it")
        comparison = COMPARISONS[str(expression.op)]
        compared, threshold = expression.lhs, number(expression.rhs)
        if threshold is None and (threshold := number(expression.lhs)) is not None:
            compared, comparison = expression.rhs, MIRRORED.get(comparison, comparison)
        if threshold is None:
            return self._of_two(expression, comparison)
        if not math.isfinite(threshold):
            raise Unsupported(expression, "isn't compared with a number")
        if condition := up_condition(compared, comparison, threshold, self.notes):
            return condition, False
        operand = self._operand(compared)
        return self._compared(operand, comparison, threshold)

    def _absent(self, expression: promql.Call) -> AnyCondition:
        [argument] = expression.args
        series = bare(argument)
        if condition := absent_up(series, self.notes):
            return condition
        if isinstance(series, promql.AggregateExpr):
            series = bare(series.expr)
        return Operand(OperandReader(self.notes).selector(series), By.CLUSTER).condition(Comparison.ABSENT, 0)

    def _of_two(self, expression: promql.BinaryExpr, comparison: Comparison) -> tuple[AnyCondition, bool]:
        """`a > b` is `a - b > 0`; `a > 2 * b` is `a / b > 2`."""
        first, other = self._operand(expression.lhs), self._operand(expression.rhs)
        if first.factor == other.factor:
            operand = self._difference(expression, first, other)
            self.notes.append("the comparison of two metrics became one of their difference with 0")
            return self._compared(operand, comparison, 0.0)
        if first.offset or other.offset or min(first.factor, other.factor) < 0:
            raise Unsupported(expression, "compares too much at once: use a - b > 5, or a / b > 2")
        ratio = other.factor / first.factor
        operand = combined(expression, replace(first, factor=1.0), other, Operation.DIVIDE)
        self.notes.append(
            f"the comparison of two metrics became one of their quotient with {ratio:g}: "
            "it is false while the second is 0"
        )
        return operand.condition(comparison, ratio), True

    def _compared(
        self, operand: Operand, comparison: Comparison, threshold: float
    ) -> tuple[AnyCondition, bool]:
        moved = (threshold - operand.offset) / operand.factor
        if operand.factor < 0:
            comparison = MIRRORED.get(comparison, comparison)
        is_scaled = (operand.factor, operand.offset) != (1, 0)
        if is_scaled:
            what = "the factor" if not operand.offset else "the arithmetic"
            self.notes.append(f"{what} was moved into the threshold: {threshold:g} became {moved:g}")
        return operand.condition(comparison, moved), is_scaled

    def _operand(self, expression: promql.Expr) -> Operand:
        expression = bare(expression)
        if not isinstance(expression, promql.BinaryExpr):
            return OperandReader(self.notes).aggregated(expression)
        operator, left, right = str(expression.op), number(expression.lhs), number(expression.rhs)
        if right is not None:
            return _with_number(expression, operator, self._operand(expression.lhs), right)
        if left is not None and operator in ("+", "*"):
            return _with_number(expression, operator, self._operand(expression.rhs), left)
        if left is not None and operator == "-":
            operand = _with_number(expression, "*", self._operand(expression.rhs), -1.0)
            return _with_number(expression, "+", operand, left)
        if left is not None:
            raise Unsupported(expression, "divides a number by a metric: exchange both, and the comparison")
        if operator == "-":
            return self._difference(expression, self._operand(expression.lhs), self._operand(expression.rhs))
        if operator != "/":
            raise of_operator(expression, operator)
        first, other = self._operand(expression.lhs), self._operand(expression.rhs)
        if first.offset or other.offset:
            raise Unsupported(expression, "divides a sum with a number: compare the metrics themselves")
        quotient = combined(expression, first, other, Operation.DIVIDE)
        return replace(quotient, factor=first.factor / other.factor)

    def _difference(self, expression: promql.BinaryExpr, first: Operand, other: Operand) -> Operand:
        if first.factor != other.factor:
            raise Unsupported(expression, "subtracts metrics with different factors: use a / b > 2")
        difference = combined(expression, first, other, Operation.SUBTRACT)
        return replace(difference, offset=first.offset - other.offset)


def _with_number(expression: promql.Expr, operator: str, operand: Operand, value: float) -> Operand:
    if not math.isfinite(value) or (operator in ("*", "/") and not value):
        raise Unsupported(expression, "its number is 0 or not finite")
    factor, offset = operand.factor, operand.offset
    match operator:
        case "*":
            return replace(operand, factor=factor * value, offset=offset * value)
        case "/":
            return replace(operand, factor=factor / value, offset=offset / value)
        case "+":
            return replace(operand, offset=offset + value)
        case "-":
            return replace(operand, offset=offset - value)
    raise of_operator(expression, operator)


def _no_comparison(expression: promql.Expr) -> Unsupported:
    if isinstance(expression, promql.BinaryExpr) and str(expression.op) in OPERATORS:
        return of_operator(expression, str(expression.op))
    return Unsupported(expression, "isn't a comparison with a number or a metric, such as … > 0")


def _conjunction(
    expression: promql.Expr, joined: promql.BinaryExpr | None = None
) -> Iterator[tuple[promql.Expr, promql.BinaryExpr | None]]:
    """The operands of `and`, each with the expression that joins it to the previous ones."""
    expression = bare(expression)
    if isinstance(expression, promql.BinaryExpr) and str(expression.op) == "and":
        yield from _conjunction(expression.lhs, joined)
        yield from _conjunction(expression.rhs, expression)
    else:
        yield expression, joined


def _check_joined(part: promql.Expr, first: By, by: By, joined: promql.BinaryExpr | None) -> None:
    labels = matched(joined) if joined is not None else None
    if by is By.CLUSTER and first is not By.CLUSTER:
        fits = labels is not None and labels <= OF_CLUSTERS
    else:
        fits = by is first and (labels is None or by is By.CLUSTER or bool(labels & OF_WORKERS))
    if not fits:
        raise Unsupported(
            part, "isn't joined to the previous part by their common subject: worker, series, or “on ()”"
        )
