"""Numbers and brackets in PromQL expressions."""

from __future__ import annotations

from collections.abc import Sequence

import promql_parser as promql


def bare(expression: promql.Expr) -> promql.Expr:
    """Without brackets."""
    while isinstance(expression, promql.ParenExpr):
        expression = expression.expr
    return expression


def number(expression: promql.Expr | float | None) -> float | None:
    """The value of a number or of arithmetic on numbers; None for anything else."""
    if isinstance(expression, int | float):
        return float(expression)
    expression = bare(expression) if expression is not None else None
    if isinstance(expression, promql.NumberLiteral):
        return float(expression.val)
    if isinstance(expression, promql.UnaryExpr):
        value = number(expression.expr)
        return None if value is None else -value
    if isinstance(expression, promql.BinaryExpr):
        return _arithmetic(str(expression.op), [number(expression.lhs), number(expression.rhs)])
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
