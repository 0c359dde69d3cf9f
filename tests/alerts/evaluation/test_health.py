"""The health of alerting, as `doctor` and Observatory's own metrics report it."""

from __future__ import annotations

import time
from datetime import timedelta

from django.utils.timezone import now

from observatory.alerts.evaluation.health import lag
from observatory.alerts.models import Channel, Delivery, Progress
from observatory.clusters.models import Cluster
from observatory.runtime.health.checks import CheckResult, alerts
from observatory.runtime.health.own_metrics import alert_metrics
from tests.alerts.evaluation.conftest import Observed, at, make_rule

BUSY = [20.0] * 20


def check_result(component: str) -> CheckResult | None:
    return next((each for each in alerts() if each.component == component), None)


def test_a_live_cluster_without_evaluation_is_reported(observed: Observed) -> None:
    observed.load(*BUSY, since=0)
    Progress.objects.create(cluster=observed.cluster, until=at(16), settled=at(16))
    Cluster.objects.update(agent_heard=now())
    assert lag(time.time()) < 5
    found = check_result("alerts")
    assert found is not None
    assert found.ok
    Cluster.objects.update(agent_heard=now() - timedelta(minutes=10))
    assert 580 < lag(time.time()) < 640
    found = check_result("alerts")
    assert found is not None
    assert not found.ok
    assert found.text.endswith("s behind the recorded data")
    Cluster.objects.update(ended=now())
    assert lag(time.time()) == 0


def test_failing_rules_are_reported_with_the_reason(observed: Observed) -> None:
    make_rule("broken", {"kind": "metric", "metric": "load", "labels": "what is this?"})
    make_rule("disabled", {"kind": "metric", "metric": "load", "labels": "nor this"}, enabled=False)
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    found = check_result("rule broken")
    assert found is not None
    assert not found.ok
    assert "what is this?" in found.text
    assert check_result("rule disabled") is None


def test_failing_channels_are_reported_until_they_work_again(observed: Observed, channel: Channel) -> None:
    make_rule()
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    assert check_result("channel everybody") is None
    Delivery.objects.update(attempts=3, last_error="it answers 500")
    found = check_result("channel everybody")
    assert found is not None
    assert found.text == "it answers 500"
    Delivery.objects.update(state=Delivery.State.SENT, sent=now())
    assert check_result("channel everybody") is None


def test_lag_alerts_and_deliveries_are_exported_as_metrics(observed: Observed, channel: Channel) -> None:
    make_rule()
    make_rule("waits", hold_seconds=3_600)
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in alert_metrics()
        for sample in family.samples
    }
    assert values["observatory_alerts", "firing"] == 1
    assert values["observatory_alerts", "pending"] == 1
    assert values["observatory_deliveries", "due"] == 1
    assert values["observatory_alerts_lag_seconds",] > 1_000  # its agent hasn't been heard for long
