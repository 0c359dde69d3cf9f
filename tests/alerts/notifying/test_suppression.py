from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from observatory.alerts.models import Channel, Delivery, Silence
from observatory.alerts.notifying.delivery import deliver_to
from observatory.alerts.notifying.reminders import remind
from observatory.alerts.web.acknowledgement import acknowledge
from tests.alerts.notifying.conftest import Fire, Resolve, make_channel
from tests.alerts.notifying.receivers import Receiver
from tests.alerts.notifying.test_delivery import at, states, summaries
from tests.support.projects import World

__all__ = ["at"]

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def channel(webhook: Receiver, db: None) -> Channel:
    return make_channel(address=webhook.url, kind="webhook")


@pytest.fixture
def silence(db: None, at: datetime) -> Silence:
    """For an hour, of all that this rule finds."""
    return Silence.objects.create(
        matchers='rule="Worker lost"', starts=at, expires=at + HOUR, comment="we know"
    )


def test_a_silenced_alert_is_sent_when_the_silence_ends(
    channel: Channel, webhook: Receiver, fire: Fire, silence: Silence, at: datetime
) -> None:
    fire()
    deliver_to(channel.pk, at)
    deliver_to(channel.pk, at + 59 * MINUTE)
    assert webhook.bodies == []
    deliver_to(channel.pk, at + 61 * MINUTE)
    assert len(webhook.bodies) == 1


def test_expiring_a_silence_takes_effect_at_once(
    channel: Channel, webhook: Receiver, fire: Fire, silence: Silence, at: datetime
) -> None:
    fire()
    deliver_to(channel.pk, at)
    Silence.objects.update(expires=at + MINUTE)
    deliver_to(channel.pk, at + MINUTE)
    assert len(webhook.bodies) == 1


def test_an_alert_that_starts_and_ends_during_a_silence_is_never_sent(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, silence: Silence, at: datetime
) -> None:
    alert = fire()
    deliver_to(channel.pk, at)
    resolve(alert)
    # though the start is looked at again only later
    deliver_to(channel.pk, at + timedelta(seconds=1))
    assert states() == [("firing", "unneeded"), ("resolved", "unneeded")]
    deliver_to(channel.pk, at + 2 * HOUR)
    assert webhook.bodies == []


def test_the_end_of_a_sent_alert_is_sent_during_a_silence(
    channel: Channel, webhook: Receiver, fire: Fire, resolve: Resolve, silence: Silence, at: datetime
) -> None:
    alert = fire()
    deliver_to(channel.pk, at - MINUTE / 2)
    resolve(alert)
    deliver_to(channel.pk, at + MINUTE)
    assert [summaries(body)[0][0] for body in webhook.bodies] == ["firing", "resolved"]


def test_an_alert_that_keeps_firing_sends_reminders(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime
) -> None:
    Channel.objects.update(repeat_hours=2)
    fire()
    deliver_to(channel.pk, at)
    for minutes in range(0, 250, 10):
        remind(at + minutes * MINUTE)
        deliver_to(channel.pk, at + minutes * MINUTE)
    assert states() == [("firing", "sent"), ("reminder", "sent"), ("reminder", "sent")]
    assert [summaries(body) for body in webhook.bodies] == [[("firing", "w1 was lost")]] * 3


def test_acknowledged_silenced_and_resolved_alerts_send_no_reminders(
    channel: Channel, fire: Fire, resolve: Resolve, world: World, at: datetime
) -> None:
    Channel.objects.update(repeat_hours=1)
    taken, over, silenced = fire(), fire(), fire()
    deliver_to(channel.pk, at)
    acknowledge(taken, world.people["owner"], "mine")
    resolve(over)
    deliver_to(channel.pk, at)
    until = at + 3 * HOUR
    Silence.objects.create(matchers='worker="w3"', starts=at, expires=until, comment="x")

    remind(at + 2 * HOUR)
    assert not Delivery.objects.filter(change="reminder").exists()
    remind(until)
    assert [reminder.alert for reminder in Delivery.objects.filter(change="reminder")] == [silenced]


def test_a_reminder_of_a_resolved_alert_is_closed(
    channel: Channel, webhook: Receiver, fire: Fire, world: World, at: datetime
) -> None:
    Channel.objects.update(repeat_hours=1)
    alert = fire()
    deliver_to(channel.pk, at)
    remind(at + 2 * HOUR)
    acknowledge(alert, world.people["owner"], "mine")
    deliver_to(channel.pk, at + 2 * HOUR)
    assert states() == [("firing", "sent"), ("reminder", "unneeded")]
    assert len(webhook.bodies) == 1


def test_reminders_to_a_failing_channel_do_not_pile_up(
    channel: Channel, webhook: Receiver, fire: Fire, at: datetime
) -> None:
    Channel.objects.update(repeat_hours=1)
    fire()
    deliver_to(channel.pk, at)
    remind(at + 2 * HOUR)
    remind(at + 4 * HOUR)
    assert Delivery.objects.filter(change="reminder").count() == 1
