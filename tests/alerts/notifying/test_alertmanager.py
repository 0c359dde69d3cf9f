from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.delivery import deliver_to
from observatory.alerts.notifying.reminders import channels_to_refresh, refresh
from tests.alerts.notifying.conftest import Fire, Resolve, make_channel
from tests.alerts.notifying.receivers import Receiver
from tests.alerts.notifying.test_delivery import at

__all__ = ["at"]

MINUTE = timedelta(minutes=1)


@pytest.fixture
def channel(alertmanager: Receiver, db: None) -> Channel:
    return make_channel(address=f"{alertmanager.url}/prefix/", kind="alertmanager", messages_an_hour=1)


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_firing_and_resolved_alerts_are_pushed_to_an_alertmanager(
    channel: Channel, alertmanager: Receiver, fire: Fire, resolve: Resolve, at: datetime
) -> None:
    alert = fire(labels={"worker": "w1", "no-label": "x", "empty": ""})
    deliver_to(channel.pk, at)
    [pushed] = alertmanager.bodies[0]
    assert alertmanager.paths == ["/prefix/api/v2/alerts"]
    assert pushed["labels"]["worker"] == "w1"
    assert "empty" not in pushed["labels"]
    assert "no-label" not in pushed["labels"]
    assert pushed["annotations"]["advice"] == "Look at its last words."
    assert time_of(pushed["startsAt"]) == alert.fired
    assert timedelta() < time_of(pushed["endsAt"]) - at <= 5 * MINUTE

    resolve(alert)
    deliver_to(channel.pk, at)
    [pushed_again] = alertmanager.bodies[1]
    assert pushed_again["labels"] == pushed["labels"]
    assert time_of(pushed_again["endsAt"]) == alert.resolved
    assert not Delivery.objects.exclude(state="sent").exists()


def test_firing_alerts_are_refreshed_in_an_alertmanager(
    channel: Channel, alertmanager: Receiver, fire: Fire, resolve: Resolve, at: datetime
) -> None:
    assert channels_to_refresh() == [channel.pk]
    over = fire()
    fire()
    deliver_to(channel.pk, at)
    resolve(over)
    refresh(channel.pk, at + MINUTE)
    [still] = alertmanager.bodies[1]
    assert still["annotations"]["summary"] == "w2 was lost"
    assert time_of(still["endsAt"]) - at > 5 * MINUTE


def test_unsent_alerts_are_not_refreshed(
    channel: Channel, alertmanager: Receiver, fire: Fire, at: datetime
) -> None:
    alertmanager.answers = [(500, "")]
    fire()
    deliver_to(channel.pk, at)
    refresh(channel.pk, at)
    assert alertmanager.bodies == []


def test_a_refresh_that_fails_succeeds_a_minute_later(
    channel: Channel, alertmanager: Receiver, fire: Fire, at: datetime
) -> None:
    fire()
    deliver_to(channel.pk, at)
    alertmanager.answers = [(500, "")]
    refresh(channel.pk, at + MINUTE)
    refresh(channel.pk, at + 2 * MINUTE)
    assert len(alertmanager.bodies) == 2
