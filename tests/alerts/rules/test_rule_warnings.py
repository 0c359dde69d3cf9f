"""Warnings about rules that are valid but probably not what is meant."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.alerts.models import Condition
from observatory.alerts.rules.condition_rows import rows_of
from observatory.alerts.rules.conditions import By
from observatory.alerts.rules.quantities import QUANTITIES
from observatory.alerts.rules.ready_made import RULES
from observatory.alerts.rules.rule_warnings import RuleWarning, warnings_of
from observatory.clusters.models import Cluster
from observatory.wire.metrics import METRICS
from tests.alerts.conftest import Tell

MEMORY = "observatory_worker_memory_bytes"
TASKS = "observatory_cluster_tasks"
ADD_UP = {"direction", "action", "unit", "activity", "reason", "in", "by"}
"""labels with several known values that add up; unit and activity where a metric doesn't say otherwise"""


def warned(metric: str = MEMORY, *, event: str = "", **fields: Any) -> list[RuleWarning]:
    kind = Condition.Kind.EVENT if event else Condition.Kind.METRIC
    return warnings_of([Condition(kind=kind, metric=metric, event=event, **{"threshold": 1} | fields)], [])


@pytest.mark.parametrize("aggregate", ["sum", "mean", "max"])
def test_an_aggregate_over_types_of_memory_is_warned_about_with_each_type_as_a_fix(aggregate: str) -> None:
    [warning] = warned(labels='worker=~"gpu-.*"', aggregate=aggregate)
    assert warning.field == "labels"
    assert "type, which don't add up: process, managed, unmanaged, spilled" in warning.message
    assert warning.fixes[0] == 'worker=~"gpu-.*", type="process"'
    assert len(warning.fixes) == 4
    for fix in warning.fixes:
        assert warned(labels=fix, aggregate=aggregate) == []


@pytest.mark.parametrize(
    ("labels", "is_warned"),
    [
        ('type="process"', False),
        ('type=~"managed|unmanaged"', False),
        ('type!="spilled"', True),
        ('type=~".*"', True),
        ("not a label", True),
    ],
)
def test_named_values_are_not_warned_about(labels: str, is_warned: bool) -> None:
    assert bool(warned(labels=labels)) == is_warned


def test_each_series_on_its_own_mixes_nothing() -> None:
    assert warned(by=By.SERIES) == []


def test_the_metric_that_is_divided_by_is_checked_too() -> None:
    divided = {"other": "metric", "other_metric": "observatory_cluster_workers", "by": By.CLUSTER}
    [warning] = warned(labels='type="process"', **divided)
    assert (warning.field, warning.fixes[0]) == ("other_labels", 'state="total"')
    assert warned(labels='type="process"', other_labels='state="total"', **divided) == []


def test_values_that_add_up_are_summed_without_a_warning() -> None:
    assert warned("observatory_worker_host_disk_bytes_per_second") == []
    assert warned("dask_scheduler_tasks_output_bytes", by=By.CLUSTER) == []


def test_every_label_with_several_known_values_says_whether_they_add_up() -> None:
    for metric in METRICS.values():
        assert set(metric.kinds) <= set(metric.labels), metric.name
        several = {label for label, values in metric.labels.items() if len(values) > 1}
        assert several <= set(metric.kinds) | ADD_UP, metric.name


def test_a_sum_of_the_shares_of_all_workers_is_warned_about() -> None:
    gil = "observatory_worker_gil_contention_ratio"
    [warning] = warned(gil, by=By.CLUSTER)
    assert (warning.field, warning.fixes) == ("aggregate", ("mean", "max"))
    assert warned(gil, by=By.CLUSTER, aggregate="mean") == []
    assert warned(gil) == []


@pytest.mark.parametrize(
    ("comparison", "threshold", "words"),
    [
        (">", 3, "fires from 4 on"),
        (">", 3.5, "fires from 4 on"),
        (">", 0, "fires from 1 on"),
        ("<", 3, "fires at 2 and less"),
        ("<", 2.5, "fires at 2 and less"),
    ],
)
def test_what_above_and_below_mean_for_a_count_is_noted(
    comparison: str, threshold: float, words: str
) -> None:
    [note] = warned(TASKS, labels='state="erred"', by=By.CLUSTER, comparison=comparison, threshold=threshold)
    assert note.is_note
    assert words in note.message


def test_a_count_below_zero_is_warned_about() -> None:
    [warning] = warned(TASKS, labels='state="erred"', by=By.CLUSTER, comparison="<", threshold=0)
    assert not warning.is_note
    assert "can't fire" in warning.message


@pytest.mark.parametrize(
    "fields", [{"comparison": ">="}, {"aggregate": "mean"}, {"function": "rate"}, {"other": "attribute"}]
)
def test_values_that_are_not_whole_have_no_note(fields: dict[str, Any]) -> None:
    assert warned(TASKS, labels='state="erred"', by=By.CLUSTER, **fields) == []


def test_a_share_of_the_usual_value_without_a_sign_is_warned_about() -> None:
    run = Condition(kind=Condition.Kind.RUN, threshold=20.0)
    [warning] = warnings_of([run], [])
    assert (warning.field, warning.fixes, warning.is_note) == ("threshold", ("20 %",), False)
    assert "above 21 times the usual value" in warning.message
    run.threshold = 0.2
    assert warnings_of([run], []) == []
    assert warnings_of([Condition(kind=Condition.Kind.RUN, measure="new-errors", threshold=20.0)], []) == []


def test_more_than_three_events_must_be_entered_as_four() -> None:
    [note] = warned("", event="worker-lost", count=3)
    assert (note.field, note.is_note) == ("count", True)
    assert "fires from 3 events on. For “more than 3” enter 4." in note.message
    assert warned("", event="worker-lost", count=1) == []


def test_a_metric_that_no_cluster_in_scope_has_reported_is_warned_about(cluster: Cluster, tell: Tell) -> None:
    tell(MEMORY, 1, worker="w0", type="process")
    conditions = [
        Condition(metric=MEMORY, labels='type="process"', threshold=1),
        Condition(metric="dask_worker_latency_seconds", threshold=1),
    ]
    [warning] = warnings_of(conditions, [cluster])
    assert (warning.condition_index, warning.field) == (1, "metric")
    assert f"dask_worker_latency_seconds ({cluster.name})" in warning.message
    assert "prometheus_client" in warning.message
    [gil] = warnings_of([Condition(metric="observatory_worker_gil_contention_ratio")], [cluster])
    assert "gilknocker" in gil.message
    tell("dask_worker_latency_seconds", 0.1, worker="w0")
    assert warnings_of(conditions, [cluster]) == []


def test_quantities_and_ready_made_rules_cause_no_warnings() -> None:
    conditions = [quantity.condition for quantity in QUANTITIES.values()]
    conditions += [condition for rule in RULES for condition in rule.conditions]
    found = warnings_of(rows_of(conditions), [])
    assert [warning for warning in found if not warning.is_note] == []


def test_plain_numbers_that_are_not_counts_have_no_note() -> None:
    assert warned("dask_semaphore_average_pending_lease_time_s", by=By.CLUSTER) == []
