"""Provisioning files of Grafana's own alerting: what is read of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from observatory.alerts.prometheus.reading import Reading, read_rules


def query(expression: str, **model: Any) -> dict[str, Any]:
    return {
        "refId": "A",
        "relativeTimeRange": {"from": 600, "to": 0},
        "datasourceUid": "prometheus",
        "model": {"expr": expression, "refId": "A", "instant": True, **model},
    }


def node(name: str, **model: Any) -> dict[str, Any]:
    return {"refId": name, "datasourceUid": "__expr__", "model": {"refId": name, **model}}


def threshold(name: str, of: str, kind: str, *numbers: Any) -> dict[str, Any]:
    conditions = [{"evaluator": {"type": kind, "params": list(numbers)}}]
    return node(name, type="threshold", expression=of, conditions=conditions)


def read(condition: str, *data: Any, **fields: Any) -> Reading:
    rule = {"uid": "a1", "title": "Tasks wait", "condition": condition, "data": list(data), **fields}
    group = {"orgId": 1, "name": "dask", "folder": "dask", "interval": "1m", "rules": [rule]}
    return read_rules(json.dumps({"apiVersion": 1, "groups": [group]}))


def expression(condition: str, *data: Any) -> str:
    reading = read(condition, *data)
    assert [str(each) for each in reading.left_out] == []
    [rule] = reading.rules
    return rule.expression


def refusal(condition: str, *data: Any) -> str:
    reading = read(condition, *data)
    assert reading.rules == []
    [unfit] = reading.left_out
    return str(unfit)


NO_WORKER = query('sum(dask_scheduler_tasks{state="no-worker"})')


def test_a_query_and_a_threshold_are_a_rule_with_its_texts_and_what_is_left_out() -> None:
    reading = read(
        "C",
        NO_WORKER,
        threshold("C", "A", "gt", 0),
        **{"for": "5m", "noDataState": "Alerting", "isPaused": False},
        labels={"severity": "critical"},
        annotations={"summary": "{{ $values.A.Value | humanize }} tasks wait", "__dashboardUid__": "x"},
    )
    [rule] = reading.rules
    assert reading.left_out == []
    assert rule.expression == '(sum(dask_scheduler_tasks{state="no-worker"})) > 0'
    assert (rule.rule.name, rule.rule.hold_seconds, rule.rule.severity) == ("Tasks wait", 300, "critical")
    assert rule.rule.message == "{value:humanize} tasks wait"
    assert "noDataState (Alerting) is left out: it isn't supported" in rule.notes
    assert not any("isPaused" in note or "uid" in note.split() for note in rule.notes)


@pytest.mark.parametrize(
    ("kind", "sign"), [("gt", ">"), ("lt", "<"), ("gte", ">="), ("lte", "<="), ("ne", "!=")]
)
def test_each_comparison_is_read(kind: str, sign: str) -> None:
    text = expression("C", query("dask_worker_threads"), threshold("C", "A", kind, 2.5))
    assert text == f"(dask_worker_threads) {sign} 2.5"


def test_a_reduced_query_is_the_query_where_it_has_one_value() -> None:
    assert (
        expression(
            "C",
            query("dask_worker_threads"),
            node("B", type="reduce", expression="A", reducer="mean"),
            threshold("C", "B", "lt", 1),
        )
        == "(dask_worker_threads) < 1"
    )
    assert (
        expression(
            "C",
            query("dask_worker_threads", instant=False, range=True),
            node("B", type="reduce", expression="A", reducer="last"),
            threshold("C", "B", "lt", 1),
        )
        == "(dask_worker_threads) < 1"
    )
    assert "its query is reduced by 'mean'" in refusal(
        "C",
        query("dask_worker_threads", instant=False),
        node("B", type="reduce", expression="A", reducer="mean"),
        threshold("C", "B", "lt", 1),
    )


def test_a_calculation_is_read_with_its_nodes() -> None:
    other = {**query("dask_scheduler_workers"), "refId": "W"}
    calculated = node("M", type="math", expression="$A / ${W}")
    assert expression(
        "C", query("dask_scheduler_desired_workers"), other, calculated, threshold("C", "M", "gt", 2)
    ) == ("(dask_scheduler_desired_workers) / (dask_scheduler_workers) > 2")
    both = node("M", type="math", expression="$A > 1 && $W > 2")
    assert expression("M", query("dask_scheduler_desired_workers"), other, both) == (
        "(dask_scheduler_desired_workers) > 1  and  (dask_scheduler_workers) > 2"
    )


def test_conditions_of_older_versions_are_read() -> None:
    def one(kind: str, number: float, operator: str = "and") -> dict[str, Any]:
        return {
            "evaluator": {"type": kind, "params": [number]},
            "operator": {"type": operator},
            "query": {"params": ["A"]},
            "reducer": {"type": "last"},
        }

    classic = node("B", type="classic_conditions", conditions=[one("gt", 5), one("lt", 9)])
    assert expression("B", query("dask_scheduler_workers"), classic) == (
        "(dask_scheduler_workers) > 5 and (dask_scheduler_workers) < 9"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([], "its node 'C' is missing"),
        ([threshold("C", "A", "gt", 0)], "its node 'A' is missing"),
        ([threshold("C", "C", "gt", 0)], "refers to itself"),
        ([node("C", type="math", expression="$C + $C")], "refers to itself"),
        (
            [NO_WORKER, threshold("C", "A", "within_range", 1, 2)],
            "'within_range' isn't supported: make a rule of each",
        ),
        ([NO_WORKER, threshold("C", "A", "gt")], "its threshold isn't a number"),
        ([NO_WORKER, threshold("C", "A", "gt", "5")], "its threshold isn't a number"),
        ([NO_WORKER, threshold("C", "A", "gt", True)], "its threshold isn't a number"),
        ([NO_WORKER, node("C", type="threshold", expression="A")], "hasn't one condition"),
        ([NO_WORKER, node("C", type="resample", expression="A")], "resample"),
        ([NO_WORKER, node("C", type="classic_conditions", conditions=[])], "it has no condition"),
        ([NO_WORKER, node("C", type="classic_conditions", conditions=[5])], "its node '' is missing"),
        ([query("", rawSql="SELECT 1"), threshold("C", "A", "gt", 0)], "its query 'A' isn't PromQL"),
        ([query("topk(3, dask_worker_threads)"), threshold("C", "A", "gt", 0)], "topk"),
        ([5, {"model": 5}, {"refId": [], "model": {}}], "its node 'C' is missing"),
    ],
)
def test_what_no_promql_says_is_left_out_with_the_reason(data: list[Any], reason: str) -> None:
    assert reason in refusal("C", *data)
    assert refusal("C", *data).startswith("Tasks wait: ")
