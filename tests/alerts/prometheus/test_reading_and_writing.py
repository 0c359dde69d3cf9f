"""Files of Prometheus' alerting rules: what is read of them, and what is written."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory.alerts.models import Rule, Severity
from observatory.alerts.prometheus.document import DocumentError
from observatory.alerts.prometheus.reading import read_rules
from observatory.alerts.prometheus.writing import expression, write_rules
from observatory.alerts.rules.condition_rows import COUNTERS, rows_of
from observatory.alerts.rules.conditions import (
    Aggregate,
    Attribute,
    By,
    Comparison,
    EventCondition,
    Function,
    Measure,
    MetricCondition,
    NoData,
    Operation,
    RuleSpec,
    RunCondition,
    Selector,
)
from observatory.alerts.rules.events import WORKER_PAUSED
from observatory.alerts.silences.matchers import Matcher, parse_matchers

FILE = """
groups:
  - name: dask
    rules:
      - alert: Workers are full
        expr: sum by (instance) (dask_worker_memory_bytes{type="managed"}) > 4e9
        for: 1m30s
        labels: {severity: page, team: data}
        annotations:
          summary: "{{ $labels.instance }} has {{ $value | humanize }} of {{ $labels.cluster }}{{ if x }}"
          description: It is full.
          runbook_url: https://wiki.example/full
          dashboard: https://grafana.example
      - alert: Slow requests
        expr: histogram_quantile(0.9, rate(requests_bucket[5m])) > 1
      - record: job:tasks:sum
        expr: sum(dask_scheduler_tasks)
      - alert: Odd
        expr: sum(a) > 1
        for: soon
"""


def test_supported_rules_are_read_and_others_are_listed() -> None:
    reading = read_rules(FILE)
    [read] = reading.rules
    rule = read.rule
    assert (rule.name, rule.severity, rule.hold_seconds) == ("Workers are full", Severity.CRITICAL, 90)
    assert rule.message == "{worker} has {value:humanize} of {cluster}"
    assert (rule.description, rule.advice) == ("It is full.", "https://wiki.example/full")
    assert read.conditions == (
        MetricCondition(
            Selector("dask_worker_memory_bytes", (Matcher("type", "=", "managed"),)),
            By.WORKER,
            Aggregate.SUM,
            Comparison.ABOVE,
            4e9,
        ),
    )
    assert read.notes == (
        "the severity 'page' became critical",
        "the label team='data' is left out: alerts have the labels of their data",
        "the annotation dashboard is left out: a rule has no such text",
        "{{ if x }} is left out of the texts up to its {{ end }}",
    )
    assert [str(left) for left in reading.left_out] == [
        "Slow requests: histogram_quantile(0.9, rate(requests_bucket[5m])): "
        "the function histogram_quantile isn't supported: histograms aren't supported; "
        "use the maximum, or quantile(0.9, …) of a metric",
        "job:tasks:sum: is a recording rule; only alerting rules are supported",
        "Odd: soon: “for” isn't a duration such as 5m",
    ]


def test_a_prometheusrule_of_kubernetes_is_read() -> None:
    text = "kind: PrometheusRule\nspec: {groups: [{name: a, rules: [{alert: A, expr: sum(a) > 1}]}]}"
    assert [read.rule.name for read in read_rules(text).rules] == ["A"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the list “groups”"),
        ("groups: 3", "the list “groups”"),
        ("groups: [{name: a}]", "no list “rules”"),
        ("groups: [{rules: [3]}]", "isn't an object"),
        ("groups: [", "can't be read as YAML"),
        ("--- {}\n--- {}", "can't be read as YAML"),
        ("a: &a [1]\ngroups: [*a, *a]", "has an alias"),
        ("groups: !!python/object/apply:os.system ['true']", "has the type"),
        ("[" * 100_000, "too deeply"),
        ("groups: [" + "1," * 100_000 + "]", "too large"),
        ("x" * (2**20 + 1), "larger than 1 MiB"),
        ("groups: [{rules: [{alert: a, expr: '" + "a" * 6000 + "'}]}]", "more than 5,000 characters"),
        ("groups: [{rules: [" + "{alert: a, expr: a > 1}," * 1001 + "]}]", "more than 1,000 rules"),
        ("groups: [{rules: [{alert: a, expr: 2026-13-45}]}]", "can't be read"),
        ("\x00", "can't be read"),
    ],
)
def test_an_invalid_rule_file_is_rejected_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        read_rules(text)


def test_invalid_rules_are_left_out_one_by_one() -> None:
    text = yaml.safe_dump(
        {
            "groups": [
                {
                    "rules": [
                        {"expr": "a > 1"},
                        {"alert": "n" * 101, "expr": "a > 1"},
                        {"alert": "no expression"},
                        {"alert": "long", "expr": "a > 1", "for": "2d"},
                        {"alert": "lists", "expr": ["a > 1"]},
                        {"alert": "good", "expr": "a > 1", "labels": 3, "annotations": [1]},
                    ]
                }
            ]
        }
    )
    reading = read_rules(text)
    assert [read.rule.name for read in reading.rules] == ["good"]
    assert [left.name for left in reading.left_out] == [
        "a rule without a name",
        "n" * 101,
        "no expression",
        "long",
        "lists",
    ]


def written(*conditions: MetricCondition | EventCondition, **fields: object) -> str:
    return write_rules([(Rule(**{"name": "A", **fields}), RuleSpec(conditions))])


def test_a_rule_is_written_as_prometheus_reads_it() -> None:
    rule = Rule(
        name="Spilling",
        severity=Severity.WARNING,
        description="Much is on disk.",
        advice="Use more workers.",
        message="{cluster}: {worker} writes {value}, over {threshold}",
    )
    selector = Selector(
        "dask_worker_spill_bytes_total", (Matcher("activity", "=~", 'disk_"w.*'),), Function.RATE, 300
    )
    condition = MetricCondition(selector, By.WORKER, Aggregate.SUM, Comparison.ABOVE, 1e6)
    text = write_rules([(rule, RuleSpec((condition,), hold=60))])
    assert yaml.safe_load(text)["groups"][0]["rules"] == [
        {
            "alert": "Spilling",
            "expr": "sum by (instance) "
            '(rate(dask_worker_spill_bytes_total{activity=~"disk_\\"w.*"}[300s])) > 1000000.0',
            "for": "60s",
            "labels": {"severity": "warning"},
            "annotations": {
                "summary": "{{ $labels.cluster }}: {{ $labels.instance }} writes "
                "{{ $value | humanize1024 }}B/s, over 977 KiB/s",
                "description": "Much is on disk.",
                "advice": "Use more workers.",
            },
        }
    ]


def test_comments_list_what_promql_cannot_express() -> None:
    memory = Selector("observatory_worker_memory_bytes", (Matcher("worker", "=", "a"),))
    limit = MetricCondition(
        memory, By.WORKER, Aggregate.SUM, Comparison.ABOVE, 0.9, other=Attribute.MEMORY_LIMIT
    )
    lost = EventCondition("worker-lost", By.WORKER)
    bytes_ = MetricCondition(memory, By.WORKER, Aggregate.SUM, Comparison.ABOVE, 9, clear_threshold=8)
    text = write_rules(
        [
            (Rule(name="Memory\n- bad: yaml"), RuleSpec((limit,))),
            (Rule(name="Lost"), RuleSpec((bytes_, lost))),
            (Rule(name="Slower"), RuleSpec((RunCondition(Measure.DURATION),))),
            (Rule(name="Bytes"), RuleSpec((bytes_,), no_data=NoData.KEEP)),
        ]
    )
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [rule["alert"] for rule in yaml.safe_load(text)["groups"][0]["rules"]] == ["Bytes"]
    assert comments[-6:] == [
        "# Left out: Memory - bad: yaml: it uses a worker's memory limit, "
        "which Dask doesn't report to Prometheus.",
        "# Left out: Lost: it has a condition on an event (worker-lost).",
        "# Left out: Slower: it compares runs with earlier ones (duration).",
        "# Bytes: without data the alert stays as it is, which PromQL can't express.",
        "# Bytes: it has the clear threshold 8, which PromQL can't express.",
        "# Bytes: the label worker is a worker's name, which Prometheus has only with relabelling.",
    ]


def test_disabled_rules_are_left_out_and_listed() -> None:
    text = written(MetricCondition(Selector("a"), By.CLUSTER, Aggregate.SUM, ABOVE, 1), enabled=False)
    assert "# Left out: A: it is disabled." in text
    assert read_rules(text).rules == []


def test_a_gauges_rate_is_explained_in_a_comment() -> None:
    memory = Selector("dask_worker_memory_bytes", (), Function.RATE, 300)
    text = written(MetricCondition(memory, By.CLUSTER, Aggregate.SUM, ABOVE, 1))
    assert (
        "# A: the rate of dask_worker_memory_bytes, a gauge, is written as deriv(), a linear regression: "
        "rate() of Prometheus is for counters." in text
    )


def test_fields_without_a_counterpart_are_noted() -> None:
    text = """
groups:
  - name: a
    interval: 30s
    labels: {team: data}
    rules:
      - alert: A
        expr: sum(a) > 1
        keep_firing_for: 5m
        annotations: {summary: so, title: thus}
      - {alert: B, expr: sum(a) > 1, limit: 3, labels: {severity: dreadful}}
"""
    interval = "the group's interval (30s) is left out: rules are evaluated every 2 seconds"
    team = "the label team='data' is left out: alerts have the labels of their data"
    assert [read.notes for read in read_rules(text).rules] == [
        (
            "it has no severity: it became a warning",
            team,
            "keep_firing_for (5m) is left out: use a clear threshold instead",
            interval,
            "the annotation title is left out: summary is used instead",
        ),
        (
            "the severity 'dreadful' became warning, because it isn't known",
            team,
            "limit (3) is left out: it isn't supported",
            interval,
        ),
    ]


def test_a_file_without_expressible_rules_is_valid() -> None:
    paused = written(EventCondition(WORKER_PAUSED.name, By.WORKER))
    assert yaml.safe_load(paused) == {"groups": []}
    assert read_rules(paused).rules == []


ABOVE = Comparison.ABOVE
names = st.sampled_from(["a", "rows_total", "observatory_worker_memory_bytes", "b:c"])
values = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8) | st.sampled_from(
    ['"', "\\", "a\\b", 'a"b', "\n"]
)
patterns = st.sampled_from(["a|b", "gpu-\\d+", 'x".*', "\\\\", "\\.", ""])
labels = st.sampled_from(["type", "state", "worker", "le"])
matchers = st.builds(Matcher, labels, st.sampled_from(["=", "!="]), values) | st.builds(
    Matcher, labels, st.sampled_from(["=~", "!~"]), patterns
)
numbers = st.floats(-1e12, 1e12, allow_nan=False).map(lambda number: number + 0.0)


@st.composite
def conditions(draw: st.DrawFn, by: By | None = None) -> MetricCondition:
    by = by or draw(st.sampled_from(By))
    function = draw(st.sampled_from(Function))
    window = 0.0 if function is Function.VALUE else draw(st.integers(1, 86_400)) / 1
    aggregate = Aggregate.SUM if by is By.SERIES else draw(st.sampled_from(Aggregate))

    def selector(of: str) -> Selector:
        return Selector(of, tuple(draw(st.lists(matchers, max_size=3))), function, window)

    def second() -> Selector:
        selected = selector(draw(names))
        is_counter = selected.metric.endswith(COUNTERS)
        return selected if is_counter else replace(selected, function=Function.VALUE, window=0.0)

    combined = [None, "metric"]
    if by is not By.SERIES and aggregate is Aggregate.SUM:
        combined.append("threads")
    other = draw(st.sampled_from(combined))
    comparison = draw(st.sampled_from(Comparison))
    if comparison is Comparison.ABSENT:
        return MetricCondition(selector(draw(names)), By.CLUSTER, Aggregate.SUM, comparison, 0)
    return MetricCondition(
        selector(draw(names)),
        by,
        aggregate,
        comparison,
        draw(numbers),
        quantile=draw(st.sampled_from([0.0, 0.25, 0.9])) if aggregate is Aggregate.QUANTILE else 0.5,
        other={None: None, "threads": Attribute.NTHREADS}.get(other, second() if other else None),
        operation=draw(st.sampled_from(Operation)) if other else Operation.DIVIDE,
    )


@st.composite
def specs(draw: st.DrawFn) -> RuleSpec:
    first = draw(conditions())
    other = st.sampled_from([first.by, By.CLUSTER]).flatmap(lambda by: conditions(by))
    others = draw(st.lists(other, max_size=2))
    return RuleSpec((first, *others), hold=draw(st.integers(0, 86_400_000)) / 1000)


@given(specs())
@settings(max_examples=200, deadline=None)
def test_a_written_rule_is_equivalent_when_read(spec: RuleSpec) -> None:
    rule = Rule(
        name="A <b>rule</b>: «x»",
        severity=Severity.INFO,
        message="{value} # of {cluster}: {value:%.2f}, {value:humanize1024}",
        description='50 % of {value:humanize} {"a": {"b": 1}} {{value}}: {',
        advice="x\ny {labels}",
    )
    text = write_rules([(rule, spec)])
    reading = read_rules(text)
    assert reading.left_out == []
    [read] = reading.rules
    assert read.conditions == spec.conditions, expression(spec.conditions)
    # a gauge's rate is written as deriv(), which both sides say
    assert [note for note in read.notes if "deriv()" not in note] == []
    assert read.rule.hold_seconds == spec.hold
    for field in ("name", "severity", "message", "description", "advice"):
        assert getattr(read.rule, field) == getattr(rule, field)


@given(st.lists(matchers, max_size=3))
def test_labels_are_stored_as_they_were_read(found: list[Matcher]) -> None:
    condition = MetricCondition(Selector("a", tuple(found)), By.SERIES, Aggregate.SUM, Comparison.ABOVE, 1)
    [row] = rows_of([condition])
    kept = parse_matchers(row.labels)
    assert [(each.label, each.operator) for each in kept] == [(each.label, each.operator) for each in found]
    for before, after in zip(found, kept, strict=True):
        # in a regular expression an escaped quotation mark is one
        assert after.value == (before.value.replace('"', '\\"') if "~" in before.operator else before.value)
