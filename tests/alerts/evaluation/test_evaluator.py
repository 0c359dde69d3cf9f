"""Rounds of the evaluator: what becomes an alert, when, and how it goes on and ends."""

from __future__ import annotations

from collections.abc import Collection

import psycopg
import pytest
from django.db import connection, transaction

from observatory.alerts.evaluation import evaluator as evaluation
from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.outcomes import Outcome, Subject
from observatory.alerts.models import Alert, Channel, Condition, Progress, Rule
from observatory.alerts.rules.condition_rows import spec_of
from observatory.alerts.rules.conditions import RuleSpec
from observatory.clusters.models import Cluster, Project, Target
from observatory.store.late_records import LATENESS
from observatory.wire.records import Event, Sample, Series
from observatory.wire.workers.custom_metrics import METRIC
from tests.alerts.evaluation.conftest import (
    BUSY,
    CALM,
    START,
    Observed,
    after,
    alerts,
    at,
    event_rule,
    make_rule,
    notified,
    sample,
)


def test_an_alert_is_pending_fires_and_is_resolved_at_the_times_of_the_data(
    observed: Observed, channel: Channel
) -> None:
    make_rule(hold_seconds=5)
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    assert alerts() == []
    observed.load(*BUSY, since=20, until=26)
    observed.evaluate(26)
    assert alerts() == [("load", "pending", 20, None, None)]
    assert notified() == []
    observed.load(*BUSY, since=26, until=34)
    observed.evaluate(34)
    assert alerts() == [("load", "firing", 20, 25, None)]
    assert notified() == [("load", "firing")]
    observed.load(*CALM, since=46)
    observed.evaluate(66)
    assert alerts() == [("load", "resolved", 20, 25, 46)]
    assert notified() == [("load", "firing"), ("load", "resolved")]
    alert = Alert.objects.get()
    assert (alert.value, alert.severity, alert.is_late) == (20, "warning", False)
    assert alert.message == "etl: the sum of load is 20, above 10, for 5 s"


def test_a_pending_alert_that_does_not_fire_is_deleted(observed: Observed) -> None:
    make_rule(hold_seconds=60)
    observed.load(*CALM, *BUSY, since=0)
    observed.evaluate(40)
    assert len(alerts()) == 1
    observed.load(*CALM, since=40)
    observed.evaluate(60)
    assert alerts() == []


def test_an_alert_that_fires_and_ends_between_two_rounds_sends_both(
    observed: Observed, channel: Channel
) -> None:
    make_rule()
    observed.load(*CALM, *BUSY, *CALM, *BUSY, *CALM, since=0)
    observed.evaluate(100)
    assert alerts() == [("load", "resolved", 20, 20, 40), ("load", "resolved", 60, 60, 80)]
    assert sorted(notified()) == [("load", "firing")] * 2 + [("load", "resolved")] * 2


def test_each_worker_has_its_own_alert(observed: Observed) -> None:
    make_rule(condition={"metric": "load", "by": "worker", "comparison": ">", "threshold": 10})
    workers = ["tcp://10.0.0.1:1", "tcp://10.0.0.2:1"]
    loads = [sample(time, 20 * busy, worker=workers[busy]) for time in range(10) for busy in (0, 1)]
    observed.tell(*loads, until=10)
    observed.evaluate(10)
    [alert] = Alert.objects.all()
    with connection.cursor() as cursor:
        cursor.execute("SELECT address FROM worker WHERE id = %s", [alert.worker_id])
        assert cursor.fetchall() == [(workers[1],)]


def test_rules_are_evaluated_from_their_last_change_on(observed: Observed) -> None:
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    make_rule(changed=at(30))
    observed.load(*BUSY, *BUSY, since=20)
    observed.evaluate(60)
    assert alerts() == [("load", "firing", 30, 30, None)]


def test_a_changed_rule_reevaluates_its_open_alerts(observed: Observed, channel: Channel) -> None:
    rule = make_rule()
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    Condition.objects.filter(rule=rule).update(threshold=30)
    Rule.objects.update(changed=at(25))
    observed.load(*BUSY, since=20)
    observed.evaluate(40)
    assert alerts() == [("load", "resolved", 0, 0, 25)]
    assert notified() == [("load", "firing"), ("load", "resolved")]


@pytest.mark.parametrize("change", [{"enabled": False}, {"cluster_names": "other-*"}])
def test_alerts_of_disabled_rules_are_resolved(
    observed: Observed, channel: Channel, change: dict[str, object]
) -> None:
    make_rule()
    make_rule("waits", hold_seconds=3_600)
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    assert [state for _, state, *_ in alerts()] == ["firing", "pending"]
    Rule.objects.update(**change)
    observed.load(*BUSY, since=20)
    observed.evaluate(40)
    assert alerts() == [("load", "resolved", 0, 0, 40 - LATENESS)]
    assert notified() == [("load", "firing"), ("load", "resolved")]


def test_a_silent_cluster_is_evaluated_by_the_clock(observed: Observed) -> None:
    make_rule()
    make_rule("silent", no_data="fire")
    make_rule("keeps", no_data="keep")
    observed.load(*BUSY, since=0)
    observed.evaluate(25)
    firing = [(name, "firing", 0, 0, None) for name in ("keeps", "load", "silent")]
    assert alerts() == firing
    observed.evaluate(34)
    assert alerts() == firing  # without data it is 15 s after the last sample, but only 14 s are evaluated
    observed.evaluate(60)
    # the last sample is of 19 and holds for 15 s
    assert alerts() == [firing[0], ("load", "resolved", 0, 0, 34), firing[2]]


def test_evaluation_follows_the_schedulers_clock(observed: Observed) -> None:
    target = Target.objects.create(
        project=observed.cluster.project, name="t", url="http://10.0.0.1:8787", clock_offset=-600
    )
    Cluster.objects.update(target=target)
    make_rule("silent", no_data="fire")
    observed.load(*CALM, since=0)
    observed.evaluate(40 + 600)
    assert after(Progress.objects.get().until) == 20
    observed.evaluate(60 + 600)
    assert alerts() == [("silent", "firing", 34, 34, None)]


def test_the_end_of_a_cluster_resolves_its_alerts(observed: Observed, channel: Channel) -> None:
    make_rule(no_data="keep")
    event_rule("worker-lost", window=120)
    lost = Event(START + 15, "worker-lost", "", {"message": "w1"})
    observed.load(*BUSY, since=0)
    observed.tell(lost, until=20)
    observed.evaluate(20)
    observed.end(20)
    observed.evaluate(50)
    assert alerts() == [("load", "resolved", 0, 0, 20), ("worker-lost", "firing", 15, 15, None)]
    assert not Progress.objects.get().is_over
    observed.evaluate(150)
    assert alerts()[1] == ("worker-lost", "resolved", 15, 15, 135)
    assert Progress.objects.get().is_over
    assert sorted(notified()) == sorted(
        (name, change) for name in ("load", "worker-lost") for change in CHANGES
    )
    until = Progress.objects.get().until
    observed.evaluate(1_000)
    assert Progress.objects.get().until == until  # it isn't looked at any more


CHANGES = ("firing", "resolved")


def test_a_cluster_that_continues_after_its_end_is_evaluated_again(observed: Observed) -> None:
    make_rule()
    observed.load(*CALM, since=0)
    observed.end(20)
    observed.evaluate(60)
    assert Progress.objects.get().is_over
    Cluster.objects.update(ended=None)
    observed.load(*BUSY, since=100)
    observed.evaluate(120)
    assert alerts() == [("load", "firing", 100, 100, None)]
    assert not Progress.objects.get().is_over


def test_imported_clusters_are_not_evaluated(observed: Observed) -> None:
    make_rule()
    observed.load(*BUSY, since=0)
    Cluster.objects.update(ended=at(20), agent_heard=None)
    observed.evaluate(30)
    assert not Progress.objects.exists()


def test_a_cluster_that_is_behind_is_caught_up_in_steps(observed: Observed) -> None:
    make_rule()
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    observed.load(*BUSY, since=2_000)
    for _ in range(4):
        observed.evaluate(2_020)
    assert alerts() == [("load", "firing", 2_000, 2_000, None)]


def test_a_failing_rule_stores_its_error_and_does_not_affect_others(observed: Observed) -> None:
    broken = make_rule("broken", {"kind": "metric", "metric": "load", "labels": "what is this?"})
    make_rule()
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    broken.refresh_from_db()
    assert "what is this?" in broken.error
    assert broken.error_time is not None
    assert alerts() == [("load", "firing", 0, 0, None)]
    Condition.objects.filter(rule=broken).update(labels="")
    Rule.objects.filter(pk=broken.pk).update(error_time=at(-100))
    observed.load(*BUSY, since=20)
    observed.evaluate(40)
    broken.refresh_from_db()
    assert (broken.error, broken.error_time) == ("", None)


def test_one_process_at_a_time_evaluates_a_cluster(observed: Observed, django_db_blocker: object) -> None:
    make_rule()
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    observed.load(*BUSY, since=20)
    parameters = connection.get_connection_params()
    with psycopg.connect(**{**parameters, "cursor_factory": psycopg.Cursor}) as other:
        other.execute("SELECT FROM alerts_progress FOR UPDATE")
        observed.evaluate(40)
        assert alerts() == []
    observed.evaluate(40)
    assert len(alerts()) == 1


def test_a_query_that_does_not_end_is_cancelled_and_its_cluster_evaluated_in_a_later_round(
    observed: Observed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_rule()
    observed.load(*BUSY, since=0)
    monkeypatch.setattr(evaluation, "STATEMENT_TIMEOUT", 0.1)
    parameters = connection.get_connection_params()
    with psycopg.connect(**{**parameters, "cursor_factory": psycopg.Cursor}) as other:
        other.execute("LOCK TABLE sample IN ACCESS EXCLUSIVE MODE")
        observed.evaluate(20)
    assert "canceling statement due to statement timeout" in caplog.text
    assert alerts() == []
    observed.evaluate(20)
    assert alerts() == [("load", "firing", 0, 0, None)]


def test_an_error_of_a_rules_query_does_not_affect_others(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate_rule = evaluation.evaluate_rule

    def after_invalid_sql(data: WindowData, spec: RuleSpec, active: Collection[Subject]) -> list[Outcome]:
        if spec == spec_of(broken, list(broken.conditions.all())):
            data.connection.execute("SELECT '(' ~ '('")
        return evaluate_rule(data, spec, active)

    broken = make_rule("broken", {"kind": "metric", "metric": "load", "threshold": 3.0})
    make_rule()
    monkeypatch.setattr(evaluation, "evaluate_rule", after_invalid_sql)
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    broken.refresh_from_db()
    assert "invalid regular expression" in broken.error
    assert alerts() == [("load", "firing", 0, 0, None)]


def test_deleting_a_cluster_during_evaluation_is_safe(observed: Observed) -> None:
    make_rule()
    observed.load(*BUSY, since=0)
    gone = Cluster(
        pk=observed.cluster.pk + 1,
        project=Project.objects.get(),
        started=at(0),
        last_seen=at(0),
    )
    from observatory.alerts.evaluation.evaluator import evaluate
    from observatory.store.connection import read_connection

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO extent SELECT %s, first, last, committed FROM extent WHERE cluster_id = %s",
            [gone.pk, observed.cluster.pk],
        )
    with read_connection() as reader:
        evaluate(reader, [gone, observed.cluster], START + 20)
    assert alerts() == [("load", "firing", 0, 0, None)]


def test_a_rule_on_a_metric_that_people_add_fires_for_each_worker_above_it(
    observed: Observed, channel: Channel
) -> None:
    condition = {
        "kind": "metric",
        "metric": METRIC,
        "labels": 'name="license_seats"',
        "by": "worker",
        "comparison": ">",
        "threshold": 5,
    }
    make_rule("licenses", condition)
    values = {("seats-free", "w0"): 9.0, ("license_seats", "w0"): 3.0, ("license_seats", "w1"): 7.0}
    samples = [
        Sample(Series(METRIC, (("name", name),), worker), START + second, value)
        for second in range(30)
        for (name, worker), value in values.items()
    ]
    observed.tell(*samples, until=30)
    observed.evaluate(30)
    [alert] = Alert.objects.all()
    assert (alert.state, alert.labels["worker"], alert.value) == ("firing", "w1", 7)
    assert notified() == [("licenses", "firing")]
