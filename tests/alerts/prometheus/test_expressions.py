"""What of PromQL our rules can ask, and what is named since they can't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.alerts.prometheus.expressions import read_expression
from observatory.alerts.prometheus.operands import WORKERS
from observatory.alerts.prometheus.refusals import Unsupported
from observatory.alerts.prometheus.scrapes import LOST, UNREACHED
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    Function,
    MetricCondition,
    Operation,
    Selector,
)
from observatory.alerts.silences.matchers import Matcher

A, B = Selector("a"), Selector("b")
SUM = Aggregate.SUM
ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, NOT_EQUAL, ABSENT = Comparison
LEFT_OUT = "“by (cluster)” is left out: rules are evaluated for each cluster"
BY_JOB = "“by (job)” is left out: rules are evaluated for each cluster"
DERIV = "deriv(), a linear regression, became the change per second between the ends of the window"


def rate(metric: str, window: float = 300, function: Function = Function.RATE) -> Selector:
    return Selector(metric, (), function, window)


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("a > 1", MetricCondition(A, By.SERIES, SUM, ABOVE, 1)),
        ("1 < a", MetricCondition(A, By.SERIES, SUM, ABOVE, 1)),
        ("-0.5 >= (a)", MetricCondition(A, By.SERIES, SUM, AT_MOST, -0.5)),
        ("a <= 2 * (1 + 1h)", MetricCondition(A, By.SERIES, SUM, AT_MOST, 7202)),
        ("sum(a) >= 1e3", MetricCondition(A, By.CLUSTER, SUM, AT_LEAST, 1000)),
        ("sum by () (a) < 3", MetricCondition(A, By.CLUSTER, SUM, BELOW, 3)),
        ("avg by (cluster) (a) < 3", MetricCondition(A, By.CLUSTER, Aggregate.MEAN, BELOW, 3)),
        ("max by (instance) (a) > 3", MetricCondition(A, By.WORKER, Aggregate.MAX, ABOVE, 3)),
        ("min(a) by (worker, job) > 3", MetricCondition(A, By.WORKER, Aggregate.MIN, ABOVE, 3)),
        (
            "quantile(0.9, a) > 3",
            MetricCondition(A, By.CLUSTER, Aggregate.QUANTILE, ABOVE, 3, quantile=0.9),
        ),
        ("rate(a[5m]) > 3", MetricCondition(rate("a"), By.SERIES, SUM, ABOVE, 3)),
        ("deriv(a[90s]) > 3", MetricCondition(rate("a", 90), By.SERIES, SUM, ABOVE, 3)),
        (
            "sum(increase(a[1h])) > 3",
            MetricCondition(rate("a", 3600, Function.CHANGE), By.CLUSTER, SUM, ABOVE, 3),
        ),
        ("sum(a) / sum(b) > 0.5", MetricCondition(A, By.CLUSTER, SUM, ABOVE, 0.5, other=B)),
        ("a / b > 0.5", MetricCondition(A, By.SERIES, SUM, ABOVE, 0.5, other=B)),
        ("a / on (instance) b > 0.5", MetricCondition(A, By.WORKER, SUM, ABOVE, 0.5, other=B)),
        (
            "sum(rate(a_total[5m])) / sum(rate(b_total[5m])) > 1",
            MetricCondition(rate("a_total"), By.CLUSTER, SUM, ABOVE, 1, other=rate("b_total")),
        ),
        (
            "sum(rate(a[5m])) / sum(b) > 1",
            MetricCondition(rate("a"), By.CLUSTER, SUM, ABOVE, 1, other=B),
        ),
        (
            "sum by (instance) (rate(a[5m])) / on (instance) dask_worker_threads > 0.8",
            MetricCondition(rate("a"), By.WORKER, SUM, ABOVE, 0.8, other=Attribute.NTHREADS),
        ),
        ('{__name__="a"} > 1', MetricCondition(A, By.SERIES, SUM, ABOVE, 1)),
        (
            'a{b="c",d!="e",f=~"g.*",h!~"i|j"} > 1',
            MetricCondition(
                Selector(
                    "a",
                    (
                        Matcher("b", "=", "c"),
                        Matcher("d", "!=", "e"),
                        Matcher("f", "=~", "g.*"),
                        Matcher("h", "!~", "i|j"),
                    ),
                ),
                By.SERIES,
                SUM,
                ABOVE,
                1,
            ),
        ),
    ],
)
def test_supported_expressions_become_conditions(expression: str, condition: MetricCondition) -> None:
    read = read_expression(expression)
    assert read.conditions == (condition,)
    assert set(read.notes) <= {LEFT_OUT, BY_JOB, DERIV}


def test_conjunctions_become_several_conditions() -> None:
    read = read_expression(
        "max by (instance) (a) > 1 and on (instance) (sum by (instance) (b) < 2) and on () sum(c) > 3"
    )
    assert [(each.selector.metric, each.by) for each in read.conditions] == [
        ("a", By.WORKER),
        ("b", By.WORKER),
        ("c", By.CLUSTER),
    ]


def difference(by: By, comparison: Comparison, threshold: float = 0) -> MetricCondition:
    return MetricCondition(A, by, SUM, comparison, threshold, other=B, operation=Operation.SUBTRACT)


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("sum(a) == 0", MetricCondition(A, By.CLUSTER, SUM, EQUAL, 0)),
        ("0 != a", MetricCondition(A, By.SERIES, SUM, NOT_EQUAL, 0)),
        ("absent(a)", MetricCondition(A, By.CLUSTER, SUM, ABSENT, 0)),
        ("absent(sum(a))", MetricCondition(A, By.CLUSTER, SUM, ABSENT, 0)),
        ("sum(a) - sum(b) > 0", difference(By.CLUSTER, ABOVE)),
        ("sum(a) > sum(b)", difference(By.CLUSTER, ABOVE)),
        ("sum(a) != sum(b)", difference(By.CLUSTER, NOT_EQUAL)),
        ("a < on (instance) b", difference(By.WORKER, BELOW)),
        ("sum(a) > sum(b) + 5", difference(By.CLUSTER, ABOVE, 5)),
        ("2 * sum(a) - 2 * sum(b) > 6", difference(By.CLUSTER, ABOVE, 3)),
        ("sum(a) > 2 * sum(b)", MetricCondition(A, By.CLUSTER, SUM, ABOVE, 2, other=B)),
        ("1 - sum(a) / sum(b) > 0.9", MetricCondition(A, By.CLUSTER, SUM, BELOW, 1 - 0.9, other=B)),
        ("a * -2 >= 4", MetricCondition(A, By.SERIES, SUM, AT_MOST, -2)),
        (
            "sum(rate(a_total[5m])) / sum(b) > 1",
            MetricCondition(rate("a_total"), By.CLUSTER, SUM, ABOVE, 1, other=B),
        ),
    ],
)
def test_comparisons_of_two_metrics_and_missing_metrics_become_conditions(
    expression: str, condition: MetricCondition
) -> None:
    [read] = read_expression(expression).conditions
    assert isinstance(read, MetricCondition)
    assert replace(read, threshold=0) == replace(condition, threshold=0)
    assert read.threshold == pytest.approx(condition.threshold)


DESIRED = Selector("dask_scheduler_desired_workers")
ACTUAL = Selector("dask_scheduler_workers")


@pytest.mark.parametrize(
    "expression",
    [
        "dask_scheduler_desired_workers - on () sum(dask_scheduler_workers) > 0",
        "dask_scheduler_desired_workers > sum(dask_scheduler_workers)",
        "dask_scheduler_desired_workers - on (job) group_left sum by (job) (dask_scheduler_workers) > 0",
        "max(dask_scheduler_desired_workers) by (instance) > sum by (instance) (dask_scheduler_workers)",
    ],
)
def test_desired_workers_are_compared_with_the_actual_ones_of_the_cluster(expression: str) -> None:
    [read] = read_expression(expression).conditions
    assert read == MetricCondition(
        DESIRED, By.CLUSTER, SUM, ABOVE, 0, other=ACTUAL, operation=Operation.SUBTRACT
    )


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("up == 0", UNREACHED),
        ('up{job="dask-scheduler"} < 1', UNREACHED),
        ('sum(up{job="dask-scheduler"}) == 0', UNREACHED),
        ('absent(up{job="dask-scheduler"})', UNREACHED),
        ('up{job="dask-worker"} == 0', LOST),
        ('up{pod=~"etl-worker-.*"} != 1', LOST),
        ('sum(up{job="dask-worker"}) < 3', MetricCondition(WORKERS, By.CLUSTER, SUM, BELOW, 3)),
        ('count(up{job="dask-worker"} == 1) < 3', MetricCondition(WORKERS, By.CLUSTER, SUM, BELOW, 3)),
        ('absent(up{job="dask-worker"})', MetricCondition(WORKERS, By.CLUSTER, SUM, EQUAL, 0)),
        ("count(dask_worker_threads) < 3", MetricCondition(WORKERS, By.CLUSTER, SUM, BELOW, 3)),
    ],
)
def test_up_becomes_an_event_or_a_number_of_workers_and_is_noted(
    expression: str, condition: AnyCondition
) -> None:
    read = read_expression(expression)
    assert read.conditions == (condition,)
    assert "became" in read.notes[-1]


def test_an_aggregation_by_all_labels_of_a_metric_is_each_series() -> None:
    read = read_expression("sum by (state) (dask_scheduler_tasks) > 1")
    assert read.conditions == (MetricCondition(Selector("dask_scheduler_tasks"), By.SERIES, SUM, ABOVE, 1),)
    assert read.notes == ("“by (state)” became each series",)


def test_a_factor_is_moved_into_the_threshold_and_noted() -> None:
    read = read_expression("100 * sum(a) / sum(b) > 95")
    assert read.conditions == (MetricCondition(A, By.CLUSTER, SUM, ABOVE, 0.95, other=B),)
    assert read.notes == ("the factor was moved into the threshold: 95 became 0.95",)
    assert read_expression("a / 1024 > 2").conditions[0].threshold == 2048


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("sum by (job) (a) > 1", BY_JOB),
        ("max by (pod) (a) > 1", "“by (pod)” became each worker"),
        ("deriv(a[5m]) > 1", DERIV),
        (
            "rate(dask_worker_memory_bytes[5m]) > 1",
            "rate() of dask_worker_memory_bytes, a gauge, became its change per second: "
            "Prometheus reads each fall as a restart from 0",
        ),
        (
            "delta(rows_total[5m]) > 1",
            "delta() of rows_total, a counter, became its increase: restarts are added",
        ),
    ],
)
def test_adapted_parts_of_an_expression_are_noted(expression: str, note: str) -> None:
    assert read_expression(expression).notes == (note,)


def test_labels_of_scrapes_are_left_out_and_noted() -> None:
    read = read_expression('sum(a{job="dask",type="x"}) > 1')
    assert read.conditions[0].selector.matchers == (Matcher("type", "=", "x"),)
    assert read.notes == ('job="dask" was left out: use the rule\'s projects, targets and cluster names',)


@pytest.mark.parametrize(
    ("expression", "part", "why"),
    [
        (
            "histogram_quantile(0.9, rate(a[5m])) > 1",
            "histogram_quantile(0.9, rate(a[5m]))",
            "histogram_quantile",
        ),
        ("sum(absent(b)) > 1", "absent(b)", "the function absent isn't supported"),
        ("max_over_time(a[5m]) > 1", "max_over_time(a[5m])", "max_over_time"),
        ("up == 1", "up", "as up == 0"),
        ("sum(up) > 3", "sum(up)", "dask-worker"),
        ("up - a > 3", "up", "compare up with 0"),
        ("a", "a", "isn't a comparison"),
        ("a > bool 1", "a > bool 1", "bool"),
        ("a > NaN", "a > NaN", "isn't compared with a number"),
        ("a > 1 or b > 1", "a > 1 or b > 1", "make a rule of each side"),
        ("a > 1 unless b", "a > 1 unless b", "reverse the comparison"),
        ("a * b > 1", "a * b", "multiplied by a number"),
        ("a + b > 1", "a + b", "waiting|queued"),
        ("a * 0 > 1", "a * 0", "is 0"),
        ("1 / a > 1", "1 / a", "exchange both"),
        ("a > 2 * b + 1", "a > 2 * b + 1", "too much at once"),
        ("count(a) > 1", "count(a)", "“count” isn't"),
        ("topk(3, a) > 1", "topk(3, a)", "“topk” isn't"),
        ("sum without (x) (a) > 1", "sum without (x) (a)", "without"),
        ("sum by (state) (a) > 1", "sum by (state) (a)", "not by state"),
        ("sum(sum(a)) > 1", "sum(a)", "isn't a metric, its rate or its change"),
        ("rate(a[5m:1m]) > 1", "rate(a[5m:1m])", "isn't applied to a metric"),
        ("rate(a[2d]) > 1", "rate(a[2d])", "a second to a day"),
        ("a offset 5m > 1", "a offset 5m", "offset"),
        ('a{x="1" or y="2"} > 1', 'a{x="1" or y="2"}', "or"),
        ('a{instance="x"} > 1', 'a{instance="x"}', "worker"),
        ('{x="y"} > 1', '{x="y"}', "doesn't name one metric"),
        ('a{x=~"(?!b)"} > 1', 'a{x=~"(?!b)"}', "isn't valid PromQL|isn't a valid regular expression"),
        ("sum(a) / b > 1", "sum(a) / b", "different subjects"),
        ("sum(a) / avg(b) > 1", "sum(a) / avg(b)", "aggregated differently"),
        (
            "sum(rate(a[5m])) / sum(b_total) > 1",
            "sum(rate(a[5m])) / sum(b_total)",
            "same function and window",
        ),
        (
            "sum(rate(a[5m])) / sum(rate(b[5m])) > 1",
            "sum(rate(a[5m])) / sum(rate(b[5m]))",
            "rate or change of b, a gauge by its name",
        ),
        (
            "delta(a[5m]) - delta(dask_worker_memory_bytes[5m]) > 1",
            "delta(a[5m]) - delta(dask_worker_memory_bytes[5m])",
            "Compare the values",
        ),
        ("a / b / c > 1", "a / b / c", "more than two metrics"),
        ("a / on (state) b > 1", "a / on (state) b", "only joins by worker or cluster"),
        ("a / on (instance) group_left b > 1", "a / on (instance) group_left () b", "group_left"),
        ("max by (instance) (a) > 1 and sum(b) > 1", "sum(b) > 1", "isn't joined"),
        ("sum(b) > 1 and a > 1", "a > 1", "isn't joined"),
        ("a >", "a >", "isn't valid PromQL"),
        ("", "", "isn't valid PromQL"),
        ("(" * 5000, "", "operators"),
        ("-" * 1000 + "a", "", "operators"),
        ("a or " * 200 + "a > 1", "", "operators"),
    ],
)
def test_unsupported_expressions_are_rejected_with_the_part_and_the_reason(
    expression: str, part: str, why: str
) -> None:
    with pytest.raises(Unsupported) as error:
        read_expression(expression)
    if why != "operators":
        assert error.value.part in (part, expression)
    assert any(each in str(error.value) for each in why.split("|"))
