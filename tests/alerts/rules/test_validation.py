"""Rules that can't work, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.models import Condition, Rule
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.conditions import By, Function
from observatory.alerts.rules.events import LOG, TASK_ERRED, UNREACHABLE, WORKER_PAUSED
from observatory.alerts.rules.validation import problems
from tests.alerts.evaluation.window.conftest import MEMORY, Stored, stored

__all__ = ["stored"]

TASKS = "observatory_cluster_tasks"
EVENT, METRIC = Condition.Kind.EVENT, Condition.Kind.METRIC


def metric(name: str = MEMORY, **fields: Any) -> Condition:
    return Condition(kind=METRIC, metric=name, threshold=fields.pop("threshold", 1.0), **fields)


def event(kind: str, **fields: Any) -> Condition:
    return Condition(kind=EVENT, event=kind, **fields)


def said(*conditions: Condition, **rule: Any) -> list[tuple[int | None, str, str]]:
    found = problems(Rule(name="r", **rule), conditions)
    return [(problem.condition_index, problem.field, problem.message) for problem in found]


def refused(*conditions: Condition, **rule: Any) -> tuple[int | None, str]:
    """Where the one problem is."""
    [(place, field, message)] = said(*conditions, **rule)
    assert message
    return place, field


@pytest.mark.django_db
def test_a_valid_rule_has_no_problems() -> None:
    conditions = (
        metric(
            labels='type="process", worker=~"gpu-.*"',
            other="attribute",
            other_attribute="memory_limit",
            threshold=0.8,
            clear_threshold=0.7,
        ),
        metric(TASKS, labels='state="processing"', by=By.CLUSTER),
        event(LOG.name, level=30, pattern="out of (memory|disk)"),
    )
    assert said(*conditions, message="{worker} of {cluster}: {value} > {threshold} {labels} {text}") == []
    assert len(spec_of(Rule(name="r"), conditions).conditions) == 3


@pytest.mark.django_db
def test_a_rule_needs_one_to_four_conditions() -> None:
    assert refused() == (None, "")
    assert refused(*[metric()] * 5) == (None, "")


@pytest.mark.django_db
def test_an_unknown_metric_is_rejected() -> None:
    assert said(metric("nothing_of_the_kind")) == [
        (0, "metric", "No cluster has reported a metric nothing_of_the_kind.")
    ]
    assert refused(metric("")) == (0, "metric")
    assert refused(metric(other="metric", other_metric="nothing_of_the_kind")) == (0, "other_metric")
    assert refused(metric(other="metric")) == (0, "other_metric")


@pytest.mark.django_db
def test_invalid_labels_and_patterns_are_rejected() -> None:
    assert refused(metric(labels="type=process")) == (0, "labels")
    assert refused(metric(labels='type=~"(process"')) == (0, "labels")
    assert refused(metric(labels='worker=~"(?=gpu)"')) == (0, "labels")
    assert refused(event(LOG.name, pattern="[")) == (0, "pattern")


@pytest.mark.django_db
def test_unknown_labels_are_rejected_with_the_known_ones() -> None:
    [(_, field, message)] = said(metric(labels='type="manged"'))
    assert field == "labels"
    assert message == (
        f'No series of {MEMORY} matches type="manged". Values: managed, process, spilled, unmanaged.'
    )
    [(_, _, message)] = said(metric(labels='kind="managed"'))
    assert message == f"No series of {MEMORY} has the label kind. Labels: type."
    assert said(metric(labels='type!="managed", kind!="x"')) == []
    assert refused(metric(TASKS, by=By.CLUSTER, labels='worker="w0"')) == (0, "labels")


def test_labels_are_checked_against_reported_series(stored: Stored) -> None:
    for shard in ("a", "b"):
        stored.samples({1: 1}, "queue_length", shard=shard)
    assert said(metric("queue_length", labels='shard="b"', by=By.CLUSTER)) == []
    [(_, _, message)] = said(metric("queue_length", labels='shard=~"c|d"', by=By.CLUSTER))
    assert message == 'No series of queue_length matches shard=~"c|d". Values: a, b.'


@pytest.mark.django_db
def test_invalid_windows_and_quantiles_are_rejected() -> None:
    assert refused(metric(function=Function.RATE, window_seconds=0)) == (0, "window_seconds")
    assert refused(metric(function=Function.CHANGE, window_seconds=float("nan"))) == (0, "window_seconds")
    assert refused(metric(aggregate="quantile", quantile=1.5)) == (0, "quantile")
    assert said(metric(window_seconds=0)) == []


@pytest.mark.django_db
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_thresholds_have_to_be_finite_numbers(number: float) -> None:
    assert refused(metric(threshold=number)) == (0, "threshold")
    assert refused(metric(clear_threshold=number)) == (0, "clear_threshold")
    assert refused(metric(), hold_seconds=number) == (None, "hold_seconds")


@pytest.mark.django_db
def test_a_missing_metric_needs_no_threshold_and_is_not_combined() -> None:
    assert said(metric(comparison="absent", threshold=float("nan"))) == []
    assert refused(metric(comparison="absent", other="attribute", other_attribute="nthreads")) == (
        0,
        "other",
    )


@pytest.mark.django_db
def test_equality_has_no_clear_threshold() -> None:
    assert refused(metric(comparison="==", threshold=5, clear_threshold=5)) == (0, "clear_threshold")


@pytest.mark.django_db
def test_the_clear_threshold_is_on_the_other_side_of_the_threshold() -> None:
    assert refused(metric(comparison=">", threshold=5, clear_threshold=6)) == (0, "clear_threshold")
    assert refused(metric(comparison="<=", threshold=5, clear_threshold=4)) == (0, "clear_threshold")
    assert said(metric(comparison="<", threshold=5, clear_threshold=6)) == []


@pytest.mark.django_db
def test_a_metric_without_worker_series_cannot_be_evaluated_for_each_worker() -> None:
    assert refused(metric(TASKS)) == (0, "by")
    by_limit = {"other": "attribute", "other_attribute": "memory_limit"}
    assert refused(metric(TASKS, by=By.SERIES, **by_limit)) == (0, "other_attribute")
    assert said(metric(TASKS, by=By.CLUSTER, **by_limit)) == []
    assert refused(metric(other="attribute")) == (0, "other_attribute")


@pytest.mark.django_db
def test_series_are_divided_only_by_series_with_the_same_labels() -> None:
    cpu = {"other": "metric", "other_metric": "observatory_worker_cpu_percent"}
    assert refused(metric(by=By.SERIES, **cpu)) == (0, "other_metric")
    assert said(metric(by=By.WORKER, **cpu)) == []
    same = {"other": "metric", "other_metric": MEMORY, "by": By.SERIES}
    assert said(metric(**same)) == []
    pinned = {"labels": 'type="managed"', "other_labels": 'type="process"'}
    assert refused(metric(**same, **pinned)) == (0, "other_metric")
    # one number for the whole cluster divides everything
    limit = {"other": "metric", "other_metric": "observatory_cluster_memory_limit_bytes"}
    assert said(metric(by=By.SERIES, **limit)) == []
    assert said(metric(by=By.WORKER, **limit)) == []


@pytest.mark.django_db
def test_invalid_settings_of_events_are_rejected() -> None:
    assert refused(event("sunrise")) == (0, "event")
    assert refused(event("")) == (0, "event")
    assert refused(event("worker-lost", level=30)) == (0, "level")
    assert refused(event(WORKER_PAUSED.name, pattern="x")) == (0, "pattern")
    assert refused(event(TASK_ERRED.name, window_seconds=0)) == (0, "window_seconds")
    assert refused(event(TASK_ERRED.name, count=0)) == (0, "count")
    assert refused(event(WORKER_PAUSED.name, count=2)) == (0, "count")
    assert said(event(WORKER_PAUSED.name, count=2, by=By.CLUSTER, window_seconds=0)) == []
    assert refused(event("worker-lost", by=By.SERIES)) == (0, "by")


@pytest.mark.django_db
def test_conditions_that_cannot_be_joined_are_rejected() -> None:
    cluster = metric(TASKS, by=By.CLUSTER)
    assert refused(cluster, metric()) == (1, "by")
    assert said(metric(), cluster) == []
    assert refused(metric(), metric(by=By.SERIES)) == (1, "by")
    assert said(metric(by=By.SERIES), metric()) == []
    assert refused(metric(by=By.SERIES), metric(TASKS, by=By.SERIES)) == (1, "metric")
    assert said(metric(), event(UNREACHABLE.name)) == []


def run(**fields: Any) -> Condition:
    return Condition(kind=Condition.Kind.RUN, **{"threshold": 0.2, "window_seconds": 3600} | fields)


@pytest.mark.django_db
def test_invalid_settings_of_runs_are_rejected() -> None:
    assert said(run()) == []
    assert said(run(measure="new-errors", comparison="==", threshold=-1)) == []
    assert refused(run(comparison="==")) == (0, "comparison")
    assert refused(run(threshold=-0.1)) == (0, "threshold")
    assert refused(run(threshold=float("nan"))) == (0, "threshold")
    assert refused(run(comparison="<", threshold=1)) == (0, "threshold")
    assert refused(run(earlier_runs=0)) == (0, "earlier_runs")
    assert refused(run(earlier_runs=1000)) == (0, "earlier_runs")
    assert refused(run(earlier_runs=5, fewest_runs=6)) == (0, "fewest_runs")
    assert refused(run(fewest_runs=0)) == (0, "fewest_runs")
    assert refused(run(window_seconds=0)) == (0, "window_seconds")


@pytest.mark.django_db
def test_conditions_on_runs_come_first() -> None:
    cluster = metric(TASKS, by=By.CLUSTER)
    assert said(run(), run(measure="tasks"), cluster, event(UNREACHABLE.name)) == []
    assert refused(run(), metric()) == (1, "by")
    assert refused(run(), metric(by=By.SERIES)) == (1, "by")
    assert refused(cluster, run()) == (1, "kind")
    assert refused(metric(), run()) == (1, "kind")


@pytest.mark.django_db
def test_unknown_placeholders_are_rejected() -> None:
    assert refused(metric(), message="{wroker} is full") == (None, "message")
    assert refused(metric(), message="{} is full") == (None, "message")
    assert said(metric(), message="100 % of {worker}: } {") == []
