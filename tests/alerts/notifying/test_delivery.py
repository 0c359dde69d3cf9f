from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils.timezone import now

from observatory.alerts.models import Alert, Channel, Delivery, Rule
from observatory.alerts.notifying.delivery import MAX_ATTEMPTS, deliver_to, due_channels, pause
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import CHANNELS, try_lock
from tests.alerts.notifying.conftest import Fire, Resolve, make_channel
from tests.alerts.notifying.receivers import Receiver
from tests.support.projects import World

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def at() -> datetime:
    """A moment after all that a test makes."""
    return now() + MINUTE


@pytest.fixture
def channel(webhook: Receiver, db: None) -> Channel:
    return make_channel("team", f"{webhook.url}/hook", kind="webhook")


def states() -> list[tuple[str, str]]:
    return list(Delivery.objects.order_by("pk").values_list("change", "state"))


def summaries(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(alert["status"], alert["annotations"]["summary"]) for alert in body["alerts"]]


def test_a_firing_alert_and_its_end_are_sent_once_each(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, at: datetime
) -> None:
    alert = fire()
    assert due_channels(at) == [channel.pk]
    deliver_to(channel.pk, at)
    deliver_to(channel.pk, at)
    assert [summaries(body) for body in webhook.bodies] == [[("firing", "w1 was lost")]]
    assert due_channels(at) == []

    resolve(alert)
    deliver_to(channel.pk, at)
    deliver_to(channel.pk, at)
    assert [summaries(body) for body in webhook.bodies[1:]] == [[("resolved", "w1 was lost")]]
    assert states() == [("firing", "sent"), ("resolved", "sent")]
    assert len(set(webhook.ids)) == 2


def test_descriptions_and_advice_are_filled_in_for_each_alert(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime
) -> None:
    rule = Rule.objects.create(
        name="Memory",
        description="{worker} of {cluster} has {value}: {labels.type}",
        advice="Add {value:%.1f}.",
    )
    rule.conditions.create(metric="observatory_worker_memory_bytes")
    alert = fire(rule=rule, labels={"worker": "w7", "type": "managed"}, value=2**30)
    deliver_to(channel.pk, at)
    [sent] = webhook.bodies[0]["alerts"]
    assert sent["annotations"]["description"] == f"w7 of {alert.cluster.name} has 1 GiB: managed"
    assert sent["annotations"]["advice"] == "Add 1073741824.0."


def test_due_notifications_of_a_cluster_are_one_message(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, world: World, at: datetime
) -> None:
    old = fire()
    deliver_to(channel.pk, at)
    resolve(old)
    fire()
    fire(cluster=world.elsewhere, message="far away")
    fire(severity="info", message="a trifle")
    deliver_to(channel.pk, at)

    here, there = webhook.bodies[1:]
    assert summaries(here) == [
        ("firing", "w2 was lost"),
        ("firing", "a trifle"),
        ("resolved", "w1 was lost"),
    ]
    assert (here["status"], here["groupLabels"]["cluster"]) == ("firing", "morning")
    assert summaries(there) == [("firing", "far away")]


def test_notifications_beyond_the_hourly_limit_are_sent_together_later(
    channel: Channel, webhook: Receiver, fire: Fire, world: World, at: datetime
) -> None:
    Channel.objects.update(messages_an_hour=2)
    clusters = [world.live, world.ended, world.elsewhere]
    for cluster in clusters:
        fire(cluster=cluster)
    deliver_to(channel.pk, at)
    assert [len(body["alerts"]) for body in webhook.bodies] == [1, 2]
    assert webhook.bodies[1]["groupLabels"] == {}

    for cluster in clusters:
        fire(cluster=cluster)
    deliver_to(channel.pk, at + 59 * MINUTE)
    assert len(webhook.bodies) == 2

    Channel.objects.update(messages_an_hour=1)
    deliver_to(channel.pk, at + 61 * MINUTE)
    assert [len(body["alerts"]) for body in webhook.bodies[2:]] == [3]
    assert not Delivery.objects.exclude(state="sent").exists()


def test_a_postponed_start_is_reported_with_its_end(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, at: datetime
) -> None:
    Channel.objects.update(messages_an_hour=1)
    fire()
    deliver_to(channel.pk, at)
    resolve(fire())
    deliver_to(channel.pk, at + 61 * MINUTE)
    assert summaries(webhook.bodies[1]) == [("resolved", "w2 was lost")]
    assert states() == [("firing", "sent")] * 2 + [("resolved", "sent")]


def test_a_failed_message_is_retried_until_it_succeeds(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, at: datetime
) -> None:
    webhook.answers = [(500, "out of order"), (503, "")]
    alert = fire()
    deliver_to(channel.pk, at)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == ("due", 1)
    assert delivery.last_error == "It answered 500 Internal Server Error."
    assert delivery.due > at + 3 * SECOND

    # its end doesn't overtake it
    resolve(alert)
    deliver_to(channel.pk, at + 2 * SECOND)
    assert len(webhook.ids) == 1

    deliver_to(channel.pk, at + 10 * SECOND)
    deliver_to(channel.pk, at + 60 * SECOND)
    assert [summaries(body)[0][0] for body in webhook.bodies] == ["firing", "resolved"]
    assert len(set(webhook.ids[:3])) == 1
    assert len(webhook.ids) == 4


def test_a_failed_message_of_a_cluster_delays_no_other_cluster(
    channel: Channel, webhook: Receiver, fire: Fire, world: World, at: datetime
) -> None:
    webhook.answers = [(400, "no")]
    fire(cluster=world.live)
    fire(cluster=world.elsewhere, message="far away")
    deliver_to(channel.pk, at)
    deliver_to(channel.pk, at + SECOND)
    assert [summaries(body) for body in webhook.bodies] == [[("firing", "far away")]]


def test_a_message_fails_for_good_after_the_last_attempt(
    world: World, fire: Fire, resolve: Resolve, at: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    channel = make_channel("nobody", "http://127.0.0.1:1/T0K3N", kind="webhook")
    alert = fire()
    moments = 0
    while Delivery.objects.get().state == "due":
        at = max(at, Delivery.objects.get().due)
        deliver_to(channel.pk, at)
        moments += 1
    failed = Delivery.objects.get()
    assert (failed.state, moments) == ("failed", MAX_ATTEMPTS)
    assert failed.last_error == "It can't be reached: Connection refused."
    assert "T0K3N" not in caplog.text

    resolve(alert)
    deliver_to(channel.pk, at)
    assert states() == [("firing", "failed"), ("resolved", "unneeded")]


def test_pauses_get_longer_up_to_ten_minutes() -> None:
    pauses = [pause(attempts).total_seconds() for attempts in range(1, MAX_ATTEMPTS)]
    assert 4 <= pauses[0] <= 6
    assert all(480 <= late <= 720 for late in pauses[8:])
    assert sum(pauses) < 4 * 3600


def test_a_message_of_a_dead_process_is_sent_again_with_the_same_id(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime
) -> None:
    fire()
    fire()
    message = uuid4()
    # killed after the receiver had it, before that was noted
    Delivery.objects.update(state="sending", message_id=message, attempts=1)
    fire()

    with connect() as another, try_lock(another, channel.pk, CHANNELS) as is_held:
        assert is_held
        deliver_to(channel.pk, at)
        assert webhook.bodies == []  # it lives

    deliver_to(channel.pk, at)
    assert [len(body["alerts"]) for body in webhook.bodies] == [2, 1]
    assert webhook.ids[0] == str(message) != webhook.ids[1]
    assert not Delivery.objects.exclude(state="sent").exists()


def test_a_crash_after_sending_repeats_only_that_message(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fire()

    def die_after(*arguments: Any) -> None:
        send(*arguments)
        raise SystemExit

    from observatory.alerts.notifying import delivery

    send = delivery.send
    with monkeypatch.context() as patched:
        patched.setattr(delivery, "send", die_after)
        with pytest.raises(SystemExit):
            deliver_to(channel.pk, at)
    assert states() == [("firing", "sending")]

    deliver_to(channel.pk, at)
    deliver_to(channel.pk, at)
    assert len(webhook.ids) == 2
    assert len(set(webhook.ids)) == 1


def test_deliveries_to_a_disabled_channel_are_closed(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime
) -> None:
    fire()
    Channel.objects.update(enabled=False)
    assert due_channels(at) == []
    assert states() == [("firing", "unneeded")]
    deliver_to(channel.pk, at)
    assert webhook.bodies == []


def test_deleted_alerts_are_not_sent(channel: Channel, webhook: Receiver, fire: Fire, at: datetime) -> None:
    fire()
    Alert.objects.all().delete()
    deliver_to(channel.pk, at)
    assert webhook.bodies == []


def test_the_webhook_payload_is_that_of_alertmanager(
    channel: Channel, webhook: Receiver, fire: Fire, rule: Rule, world: World, at: datetime, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://observatory.example.org"
    alert = fire(labels={"worker": "<img src=x onerror=alert(1)>"})
    deliver_to(channel.pk, at)
    body = webhook.bodies[0]
    fired = datetime(2026, 5, 5, 12, 2, tzinfo=UTC)
    seconds = fired.timestamp()
    url = (
        f"https://observatory.example.org/clusters/{world.live.pk}/"
        f"?from={seconds - 150:.3f}&to={seconds + 120:.3f}&at={seconds:.3f}"
    )
    assert body["alerts"] == [
        {
            "status": "firing",
            "labels": {
                "worker": "<img src=x onerror=alert(1)>",
                "alertname": "Worker lost",
                "severity": "critical",
                "cluster": "morning",
                "cluster_id": str(world.live.pk),
                "project": "alpha",
                "target": "analysis",
            },
            "annotations": {
                "summary": "w1 was lost",
                "description": rule.description,
                "advice": rule.advice,
                "page": f"https://observatory.example.org/alerts/{alert.pk}/",
            },
            "startsAt": "2026-05-05T12:02:00.000Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": url,
            "fingerprint": alert.fingerprint,
        }
    ]
    assert (body["receiver"], body["externalURL"]) == ("team", "https://observatory.example.org")
    assert body["commonLabels"] == body["alerts"][0]["labels"]
    assert body["groupLabels"] == {
        "cluster": "morning",
        "cluster_id": str(world.live.pk),
        "project": "alpha",
    }
    assert body["groupKey"] == (f'{{}}:{{cluster="morning", cluster_id="{world.live.pk}", project="alpha"}}')


def test_redirects_are_not_followed(
    channel: Channel, webhook: Receiver, alertmanager: Receiver, fire: Fire, at: datetime
) -> None:
    webhook.answers = [(307, f"{alertmanager.url}/elsewhere")]
    fire()
    deliver_to(channel.pk, at)
    assert Delivery.objects.get().last_error.startswith("It answered 307, a redirect")
    assert alertmanager.paths == []
