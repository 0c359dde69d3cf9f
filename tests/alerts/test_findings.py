"""Notifications carry the first finding around their alert, as far as there is time to look."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from observatory.alerts import findings
from observatory.alerts.models import Alert, Channel, Condition
from observatory.alerts.notifying.delivery import deliver_to
from observatory.alerts.notifying.message import Change
from observatory.alerts.notifying.reminders import refresh
from observatory.alerts.notifying.routing import enqueue
from observatory.alerts.rules.events import ENDED_WITH_ERRORS
from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from tests.alerts.notifying.conftest import alertmanager, make_channel, webhook
from tests.alerts.notifying.receivers import Receiver, taking_mail
from tests.support.recorded_cluster import at
from tests.support.stored_alerts import make_alert
from tests.support.stored_findings import finding, keep
from tests.why.findings.simulated import Simulated, Task, futures

__all__ = ["alertmanager", "webhook"]

pytestmark = pytest.mark.django_db(transaction=True)

STRAGGLER = "1 task of work took 9.00 s"
DUE = timedelta(minutes=1)


@pytest.fixture
def cluster() -> Cluster:
    return Simulated([*futures(60, 0.5), Task("work-60", 9)]).record()


@pytest.fixture
def channel(webhook: Receiver) -> Channel:
    return make_channel("team", f"{webhook.url}/hook", kind="webhook")


def fire(cluster: Cluster, rule: str = "slow task", **fields: Any) -> Alert:
    alert = make_alert(cluster, rule, 5, 6, None, at(0), **fields)
    enqueue([(alert, Change.FIRING)])
    return alert


def annotations(receiver: Receiver) -> list[dict[str, str]]:
    return [alert["annotations"] for body in receiver.bodies for alert in body["alerts"]]


def test_a_notification_has_the_first_finding_and_the_alert_keeps_it(
    cluster: Cluster, channel: Channel, webhook: Receiver
) -> None:
    alert = fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    [sent] = annotations(webhook)
    assert sent["finding"].startswith(STRAGGLER)
    alert.refresh_from_db()
    assert alert.finding == sent["finding"]


def test_a_mail_has_the_first_finding_in_both_of_its_parts(cluster: Cluster) -> None:
    with taking_mail() as (box, port):
        channel = make_channel(address=f"mailto://127.0.0.1:{port}?from=o@example.org&to=t@example.org")
        fire(cluster)
        deliver_to(channel.pk, now() + DUE)
    [mail] = box.mails
    for kind in ("plain", "html"):
        body = mail.get_body([kind])
        assert body is not None
        assert f"Main finding around it: {STRAGGLER}" in " ".join(body.get_content().split())


def test_an_alertmanager_is_told_the_same_at_each_refresh(cluster: Cluster, alertmanager: Receiver) -> None:
    channel = make_channel("alertmanager", alertmanager.url, kind="alertmanager")
    fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    refresh(channel.pk, now() + DUE)
    told = [alert["annotations"]["finding"] for body in alertmanager.bodies for alert in body]
    assert len(told) == 2
    assert len(set(told)) == 1


def test_of_an_alert_about_a_run_it_is_the_main_finding_of_the_run(
    cluster: Cluster, channel: Channel, webhook: Receiver
) -> None:
    run = Run.objects.create(cluster=cluster, name="nightly", origin="code", start=at(0), stop=at(5))
    keep(run, finding("failure", 3, "work", sentence="1 task of work failed with KeyError."))
    alert = fire(cluster, "run failed")
    alert.rule.conditions.create(kind=Condition.Kind.EVENT, event=ENDED_WITH_ERRORS.name)
    deliver_to(channel.pk, now() + DUE)
    assert [sent["finding"] for sent in annotations(webhook)] == ["1 task of work failed with KeyError."]


def test_of_too_many_tasks_those_next_to_the_alert_are_looked_at(
    cluster: Cluster, channel: Channel, webhook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MOST_SPANS", 60)
    fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    assert ["finding" in sent for sent in annotations(webhook)] == [True]


def test_where_even_the_shortest_window_has_too_many_tasks_there_is_none(
    cluster: Cluster, channel: Channel, webhook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MOST_SPANS", 3)
    monkeypatch.setattr(findings, "SHORTEST", timedelta(seconds=100))
    fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    assert ["finding" in sent for sent in annotations(webhook)] == [False]


def test_no_notification_is_lost_when_looking_fails(
    cluster: Cluster, channel: Channel, webhook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> Iterator[Any]:
        raise ZeroDivisionError

    monkeypatch.setattr(findings, "findings", fail)
    fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    assert ["finding" in sent for sent in annotations(webhook)] == [False]


def test_notifications_wait_no_longer_than_the_budget(
    cluster: Cluster, channel: Channel, webhook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "BUDGET", 0.0)
    fire(cluster)
    deliver_to(channel.pk, now() + DUE)
    assert ["finding" in sent for sent in annotations(webhook)] == [False]


def test_the_first_alerts_of_a_message_are_looked_at(
    cluster: Cluster, channel: Channel, webhook: Receiver
) -> None:
    for number in range(5):
        fire(cluster, labels={"worker": f"w{number}"})
    deliver_to(channel.pk, now() + DUE)
    assert sum("finding" in sent for sent in annotations(webhook)) == findings.MOST_ALERTS
