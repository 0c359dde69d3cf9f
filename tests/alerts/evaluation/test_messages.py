"""What is said of an alert, whatever a cluster tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.alerts.evaluation.messages import MAX_LENGTH, message
from observatory.alerts.models import Alert, Rule
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    MetricCondition,
    Operation,
    RuleSpec,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.units import format_value
from observatory.alerts.silences.matchers import parse_matchers
from observatory.clusters.models import Cluster, Project

MEMORY = Selector("observatory_worker_memory_bytes", parse_matchers('type="process"'))
GIB = 2**30


def metric(selector: Selector = MEMORY, threshold: float = 3.5 * GIB, **changes: object) -> MetricCondition:
    usual = {"by": By.WORKER, "aggregate": Aggregate.SUM, "comparison": Comparison.ABOVE}
    return MetricCondition(selector, threshold=threshold, **{**usual, **changes})  # type: ignore[arg-type]


def said(
    *conditions: AnyCondition,
    template: str = "",
    value: float | None = None,
    labels: dict[str, str] | None = None,
    text: str = "",
    hold: float = 0.0,
    cluster: str = "etl",
) -> str:
    alert = Alert(
        rule=Rule(name="memory", message=template),
        cluster=Cluster(name=cluster, project=Project(slug="science")),
        labels=labels or {},
        value=value,
    )
    return message(alert, RuleSpec(conditions, hold), text)


def test_without_a_template_the_message_describes_the_conditions() -> None:
    notified = said(metric(), value=3.71 * GIB, labels={"worker": "w3"}, hold=30)
    assert notified == (
        'etl: observatory_worker_memory_bytes{type="process"} of w3 is 3.71 GiB, above 3.5 GiB, for 30 s'
    )


def test_a_ratio_is_written_in_percent() -> None:
    share = metric(threshold=0.9, other=Attribute.MEMORY_LIMIT)
    notified = said(share, value=0.953, labels={"worker": "w3"})
    assert notified.endswith("/ memory limit of w3 is 95.3 %, above 90 %")
    gil = Selector("dask_worker_gil_contention_seconds_total", (), Function.RATE, 60.0)
    assert said(metric(gil, 0.5, by=By.CLUSTER, aggregate=Aggregate.MAX), value=0.75) == (
        "etl: the maximum of the rate of dask_worker_gil_contention_seconds_total over 1 min"
        " is 75 %, above 50 %"
    )


def test_a_difference_and_a_missing_metric_are_described() -> None:
    desired = metric(Selector("desired"), 0, by=By.CLUSTER, other=Selector("workers"))
    desired = replace(desired, operation=Operation.SUBTRACT, comparison=Comparison.NOT_EQUAL)
    assert said(desired, value=2) == "etl: the sum of desired - workers is 2, not equal to 0"
    absent = metric(Selector("desired"), 0, by=By.CLUSTER, comparison=Comparison.ABSENT)
    assert said(absent) == "etl: the sum of desired is missing"


def test_the_message_has_further_conditions_and_the_text_of_the_event() -> None:
    erred = EventCondition("task-erred", By.CLUSTER, count=10, window=60)
    assert said(erred, metric(threshold=GIB), value=12, text="ValueError: no") == (
        "etl: a task erred 12 times within 1 min,"
        ' and observatory_worker_memory_bytes{type="process"} is above 1 GiB; the last time: ValueError: no'
    )
    rose = EventCondition("tasks-erred", By.CLUSTER, count=4, window=60)
    assert said(rose, value=5, text="2 tasks erred") == (
        "etl: the number of erred tasks rose 5 times within 1 min; the last time: 2 tasks erred"
    )
    assert said(EventCondition("worker-lost", By.WORKER), labels={"worker": "w1"}) == (
        "etl, w1: a worker was lost or disappeared"
    )


@pytest.mark.parametrize("text", ["w6 was lost", "w6 joined", "a client submitted 12 tasks"])
def test_an_event_whose_message_is_a_sentence_is_told_by_it_alone(text: str) -> None:
    lost = EventCondition("worker-lost", By.WORKER)
    assert said(lost, labels={"worker": "w6"}, text=text) == f"etl: {text}"


def test_a_run_is_described_with_what_is_usual() -> None:
    labels, text = {"run": "nightly"}, "nightly took 15 min, usually 10 min"
    slower = RunCondition(Measure.DURATION)
    assert said(slower, value=0.5, labels=labels, text=text) == (
        "etl: the duration of a run is above the usual by 20 %: nightly took 15 min, usually 10 min"
    )
    filled = said(
        slower,
        template="{labels.run} is {value} over {threshold}: {text}",
        value=0.5,
        labels=labels,
        text=text,
    )
    assert filled == "nightly is 50 % over 20 %: nightly took 15 min, usually 10 min"
    new = said(RunCondition(Measure.NEW_ERRORS), value=2.0, labels=labels, text="KeyError in load")
    assert new == "etl: a run had errors that earlier runs didn't have: KeyError in load"


def test_placeholders_are_filled_with_values_and_units() -> None:
    template = "{worker} on {cluster}: {value} of {threshold} ({labels}) {text} {nothing} {0} {"
    labels = {"worker": "w3", "type": "process"}
    assert said(metric(), template=template, value=4 * GIB, labels=labels, text="so") == (
        "w3 on etl: 4 GiB of 3.5 GiB (type=process, worker=w3) so {nothing} {0} {"
    )


def test_a_value_has_the_format_of_its_placeholder_and_a_label_its_value() -> None:
    template = "{value:humanize1024}B {value:%.1f} {labels.state}{labels.none} {labels.project}{value:odd}"
    assert said(metric(), template=template, value=GIB, labels={"state": "idle"}) == (
        "1GiB 1073741824.0 idle science{value:odd}"
    )


def test_braces_in_texts_of_the_cluster_are_not_expanded() -> None:
    labels = {"worker": "{text}{cluster}"}
    notified = said(metric(), template="{worker}!", value=1, labels=labels, text="secret")
    assert notified == "{text}{cluster}!"


@pytest.mark.parametrize("template", ["", "{cluster} {worker} {value} {labels} {text}" * 10])
def test_hostile_texts_are_shortened_and_storable(template: str) -> None:
    odd = "\x00\ud800" + "x" * 100_000
    notified = said(
        metric(), template=template, value=float("nan"), labels={odd: odd, "worker": odd}, text=odd
    )
    assert len(notified) <= MAX_LENGTH
    assert "\x00" not in notified
    notified.encode()
    assert said(metric(), template=template, value=None, cluster=odd)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0, "bytes", "0 B"),
        (-3 * 2**20, "bytes", "-3 MiB"),
        (2**110, "bytes", "1.15e+18 PiB"),
        (0.25, "seconds", "250 ms"),
        (90, "seconds", "1 min 30 s"),
        (7_200, "seconds", "2 h"),
        (1.5 * 2**20, "bytes/s", "1.5 MiB/s"),
        (12_345, "", "12,345"),
        (1e300, "seconds", "1e+300 s"),
        (85.0, "percent", "85 %"),
        (float("inf"), "seconds", "∞"),
        (float("nan"), "bytes", "–"),
    ],
)
def test_values_are_written_with_their_units(value: float, unit: str, words: str) -> None:
    assert format_value(value, unit) == words
