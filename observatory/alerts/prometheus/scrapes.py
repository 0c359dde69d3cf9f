"""Conditions on `up`, which says whether Prometheus reaches a process: events, or the number of workers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import promql_parser as promql

from observatory.alerts.prometheus.arithmetic import bare
from observatory.alerts.prometheus.operands import WORKERS, Operand
from observatory.alerts.prometheus.refusals import Unsupported
from observatory.alerts.rules.conditions import AnyCondition, By, Comparison, EventCondition
from observatory.alerts.rules.events import UNREACHABLE

LOST_WINDOW = 300.0
"""seconds for which a lost worker fires, as in the ready-made rule"""
COMPARE: dict[Comparison, Callable[[float, float], bool]] = {
    Comparison.ABOVE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
    Comparison.BELOW: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.EQUAL: operator.eq,
    Comparison.NOT_EQUAL: operator.ne,
}
UNREACHED = EventCondition(UNREACHABLE.name, By.CLUSTER)
LOST = EventCondition("worker-lost", By.WORKER, window=LOST_WINDOW)


def up_condition(
    expression: promql.Expr, comparison: Comparison, threshold: float, notes: list[str]
) -> AnyCondition | None:
    """The condition for a comparison of `up`, or of its sum or number; None for another metric."""
    expression = bare(expression)
    if isinstance(expression, promql.AggregateExpr):
        selector, counts = _counted(expression)
    else:
        selector, counts = expression, False
    if not _is_up(selector):
        return None
    _note_labels(selector, notes)
    if counts and _is_of(selector, "worker"):
        notes.append(f"the number of workers that are up became {WORKERS.metric}, the number of workers")
        return Operand(WORKERS, By.CLUSTER).condition(comparison, threshold)
    compare = COMPARE[comparison]
    if not compare(0, threshold) or compare(1, threshold):
        raise Unsupported(
            expression,
            "can only be compared for a process that is down, as up == 0; for the number of workers name "
            'them in the labels: sum(up{job="dask-worker"})',
        )
    return _down(selector, notes)


def absent_up(selector: promql.Expr, notes: list[str]) -> AnyCondition | None:
    """The condition for `absent(up{…})`; None for another metric."""
    if not _is_up(selector):
        return None
    _note_labels(selector, notes)
    if _is_of(selector, "worker"):
        notes.append(f"absent({selector.prettify()}) became “there are no workers” ({WORKERS.metric})")
        return Operand(WORKERS, By.CLUSTER).condition(Comparison.EQUAL, 0)
    return _down(selector, notes)


def _down(selector: promql.Expr, notes: list[str]) -> EventCondition:
    if _is_of(selector, "worker"):
        notes.append("up became the event “a worker was lost”; the ready-made rule Worker lost has the same")
        return LOST
    notes.append(
        "up became the event “the scheduler doesn't answer”; the ready-made rule Unreachable has the same, "
        "and Worker lost is for workers"
    )
    return UNREACHED


def _counted(expression: promql.AggregateExpr) -> tuple[promql.Expr, bool]:
    """The aggregated series, and whether the aggregation is the number of processes that are up."""
    inner = bare(expression.expr)
    name = str(expression.op)
    if name == "count" and isinstance(inner, promql.BinaryExpr) and str(inner.op) == "==":
        is_up = isinstance(inner.rhs, promql.NumberLiteral) and inner.rhs.val == 1
        return bare(inner.lhs), is_up
    return inner, name in ("sum", "count")


def _note_labels(selector: promql.Expr, notes: list[str]) -> None:
    assert isinstance(selector, promql.VectorSelector)
    for matcher in selector.matchers.matchers:
        notes.append(f"{matcher} was left out: use the rule's projects, targets and cluster names")


def _is_up(expression: promql.Expr) -> bool:
    return isinstance(expression, promql.VectorSelector) and expression.name == "up"


def _is_of(expression: promql.Expr, role: str) -> bool:
    """True if a label's value names the role, and not that of schedulers."""
    assert isinstance(expression, promql.VectorSelector)
    values = [matcher.value.lower() for matcher in expression.matchers.matchers]
    return any(role in value and "sched" not in value for value in values)
