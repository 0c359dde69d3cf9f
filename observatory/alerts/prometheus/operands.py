"""Reads the operands of PromQL expressions: aggregated metrics, and quotients and differences of two."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import promql_parser as promql

from observatory.alerts.models import DAY
from observatory.alerts.prometheus.arithmetic import bare, number
from observatory.alerts.prometheus.labels import OF_CLUSTERS, OF_WORKERS, THREADS, WORKER
from observatory.alerts.prometheus.metric_types import is_counter, may_be_counter
from observatory.alerts.prometheus.refusals import Unsupported, of_aggregation, of_changing_gauge, of_function
from observatory.alerts.rules.condition_rows import COUNTERS
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    Operation,
    Selector,
)
from observatory.alerts.silences.matchers import Matcher, MatcherError, check_pattern
from observatory.wire.metrics import METRICS

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
WORKERS = Selector("observatory_cluster_workers", (Matcher("state", "=", "total"),))


@dataclass(frozen=True, slots=True)
class Operand:
    """The value that is compared is this value times `factor`, plus `offset`."""

    selector: Selector
    by: By
    aggregate: Aggregate = Aggregate.SUM
    quantile: float = 0.5
    other: Selector | Attribute | None = None
    operation: Operation = Operation.DIVIDE
    factor: float = 1.0
    offset: float = 0.0

    def condition(self, comparison: Comparison, threshold: float) -> MetricCondition:
        return MetricCondition(
            selector=self.selector,
            by=self.by,
            aggregate=self.aggregate,
            comparison=comparison,
            threshold=threshold,
            quantile=self.quantile,
            other=self.other,
            operation=self.operation,
        )


@dataclass(slots=True)
class OperandReader:
    """Reads one metric; `notes` are the differences from the expression."""

    notes: list[str] = field(default_factory=list)

    def aggregated(self, expression: promql.Expr) -> Operand:
        if not isinstance(expression, promql.AggregateExpr):
            return Operand(self.selector(expression), By.SERIES)
        name = str(expression.op)
        if name == "count":
            return self._count(expression)
        aggregate = AGGREGATES.get(name)
        if aggregate is None:
            raise of_aggregation(expression, name)
        selector = self.selector(bare(expression.expr))
        by = self._by(expression, selector)
        if aggregate is not Aggregate.QUANTILE:
            # a series is aggregated with nothing else
            return Operand(selector, by, Aggregate.SUM if by is By.SERIES else aggregate)
        quantile = number(expression.param)
        if quantile is None or not 0 <= quantile <= 1:
            raise Unsupported(expression, "a quantile is a number from 0 to 1")
        return Operand(selector, by, aggregate, quantile)

    def selector(self, expression: promql.Expr) -> Selector:
        if isinstance(expression, promql.VectorSelector):
            return self._series(expression)
        if not isinstance(expression, promql.Call):
            raise Unsupported(expression, "isn't a metric, its rate or its change")
        function = FUNCTIONS.get(expression.func.name)
        if function is None:
            raise of_function(expression, expression.func.name)
        [argument] = expression.args
        if not isinstance(argument, promql.MatrixSelector):
            raise Unsupported(expression, "isn't applied to a metric")
        window = argument.range.total_seconds()
        if not 1 <= window <= DAY:
            raise Unsupported(expression, "a window is from a second to a day")
        series = self._series(argument.vector_selector)
        self._note_function(expression.func.name, series.metric)
        return replace(series, function=function, window=window)

    def _count(self, expression: promql.AggregateExpr) -> Operand:
        """The number of a worker's single series is the number of workers."""
        counted = bare(expression.expr)
        if not isinstance(counted, promql.VectorSelector):
            raise of_aggregation(expression, "count")
        selector = self._series(counted)
        known = METRICS.get(selector.metric)
        if known is None or not known.of_workers or free_labels(selector):
            raise of_aggregation(expression, "count")
        if self._by(expression, selector) is not By.CLUSTER:
            raise of_aggregation(expression, "count")
        self.notes.append(f"count({selector.metric}) became {WORKERS.metric}, the number of workers")
        return Operand(WORKERS, By.CLUSTER)

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

    def _by(self, expression: promql.AggregateExpr, selector: Selector) -> By:
        modifier = expression.modifier
        if modifier is not None and modifier.type != promql.AggModifierType.By:
            raise Unsupported(expression, "“without” isn't supported; use “by (instance)” or no “by”")
        labels = frozenset(modifier.labels) if modifier is not None else frozenset()
        known = METRICS.get(selector.metric)
        by = By.WORKER if labels & OF_WORKERS else By.CLUSTER
        if unknown := labels - OF_WORKERS - OF_CLUSTERS:
            if known is None or unknown < free_labels(selector) or (known.of_workers and by is By.CLUSTER):
                listed = ", ".join(sorted(unknown))
                raise Unsupported(
                    expression,
                    f"aggregation is by worker or cluster, not by {listed}; "
                    "a metric without an aggregation has an alert for each series",
                )
            self.notes.append(f"“by ({', '.join(sorted(labels))})” became each series")
            return By.SERIES
        self._note_labels(labels)
        if by is By.WORKER and known is not None and not known.of_workers:
            self.notes.append(
                f"“by ({', '.join(sorted(labels & OF_WORKERS))})” became the whole cluster: "
                f"{selector.metric} isn't reported by workers"
            )
            return By.CLUSTER
        if labels & OF_WORKERS - {WORKER, "worker"}:
            self.notes.append("“by (pod)” became each worker")
        return by

    def _note_labels(self, labels: frozenset[str]) -> None:
        """For labels of `by (…)` that our series don't have."""
        if of_clusters := sorted(labels & OF_CLUSTERS):
            self.notes.append(
                f"“by ({', '.join(of_clusters)})” is left out: rules are evaluated for each cluster"
            )

    def _series(self, expression: promql.VectorSelector) -> Selector:
        if expression.offset is not None or expression.at is not None:
            raise Unsupported(
                expression, "“offset” and “@” aren't supported: use delta(…), the change over a window"
            )
        if expression.matchers.or_matchers:
            raise Unsupported(expression, '“or” between labels isn\'t supported: use =~"one|other"')
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
        if len(names) != 1:
            raise Unsupported(expression, "doesn't name one metric")
        if names == ["up"]:
            raise Unsupported(
                expression,
                "says whether Prometheus reaches a process: compare up with 0 for an event of Observatory, "
                'or sum(up{job="…worker…"}) for the number of workers',
            )
        return Selector(names[0], tuple(matchers))


def free_labels(selector: Selector) -> frozenset[str]:
    """The labels of a known metric, besides those with one value; empty for an unknown metric."""
    known = METRICS.get(selector.metric)
    fixed = {matcher.label for matcher in selector.matchers if matcher.operator == "="}
    return frozenset(known.labels) - fixed if known else frozenset()


def of_worker(operand: Operand) -> Operand:
    """A single series per worker equals the sum per worker."""
    return replace(operand, by=By.WORKER) if operand.by is By.SERIES else operand


def of_cluster(operand: Operand, like: Operand) -> Operand:
    """A single series of the cluster equals any aggregation of it: here that of `like`."""
    known = METRICS.get(operand.selector.metric)
    if known is None or known.of_workers or free_labels(operand.selector):
        return operand
    return replace(operand, by=By.CLUSTER, aggregate=like.aggregate, quantile=like.quantile)


def combined(expression: promql.BinaryExpr, first: Operand, second: Operand, operation: Operation) -> Operand:
    """`first` and `second` with the same subjects; factor and offset are those of `first`."""
    if first.other is not None or second.other is not None:
        raise Unsupported(expression, "combines more than two metrics: make a second condition with “and”")
    first, second = _aligned(expression, first, second)
    if first.by is not second.by:
        raise Unsupported(
            expression, "combines values of different subjects; aggregate both by the same labels"
        )
    if second.selector == Selector(THREADS) and first.by is not By.SERIES:
        if Aggregate.SUM not in (second.aggregate, first.aggregate):
            raise Unsupported(expression, "combines with threads that aren't summed")
        return replace(first, other=Attribute.NTHREADS, operation=operation)
    if (first.aggregate, first.quantile) != (second.aggregate, second.quantile):
        raise Unsupported(expression, "combines values that are aggregated differently")
    _check_functions(expression, first.selector, second.selector)
    return replace(first, other=second.selector, operation=operation)


def _aligned(expression: promql.BinaryExpr, first: Operand, other: Operand) -> tuple[Operand, Operand]:
    """Both operands for workers or for the cluster, where they are known to be that."""
    of_first = of_cluster(first, other)
    of_other = of_cluster(other, of_first)
    if of_first.by is of_other.by is By.CLUSTER:
        return of_first, of_other
    labels = matched(expression)
    if labels is not None and labels & OF_WORKERS:
        return of_worker(first), of_worker(other)
    return first, other


def _check_functions(expression: promql.BinaryExpr, first: Selector, second: Selector) -> None:
    """A rule combines with a gauge's value, and with a counter's rate or change."""
    if second.metric.endswith(COUNTERS):
        if (first.function, first.window) != (second.function, second.window):
            raise Unsupported(
                expression, "combines a rate or change with a counter without the same function and window"
            )
    elif second.function is not Function.VALUE:
        raise Unsupported(expression, of_changing_gauge(second.metric))


def matched(expression: promql.BinaryExpr) -> frozenset[str] | None:
    """The labels of `on (…)`; None: all labels."""
    modifier = expression.modifier
    if modifier is None:
        return None
    if modifier.card in (promql.VectorMatchCardinality.ManyToOne, promql.VectorMatchCardinality.OneToMany):
        raise Unsupported(
            expression,
            "“group_left” and “group_right” aren't supported: aggregate both sides by the same labels",
        )
    if modifier.matching is None:
        return None
    labels = frozenset(modifier.matching.labels)
    if modifier.matching.type != promql.LabelModifierType.Include or labels - OF_WORKERS - OF_CLUSTERS:
        raise Unsupported(expression, "only joins by worker or cluster are supported")
    return labels


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
