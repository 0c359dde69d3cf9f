"""Why a notification is not sent yet."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils.timezone import now

from observatory.alerts.models import Channel, Delivery, Silence
from observatory.alerts.notifying.decisions import with_alerts
from observatory.alerts.notifying.waiting import Waiting
from tests.support.projects import World, world
from tests.support.stored_alerts import make_alert

__all__ = ["world"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def delivery(world: World) -> Delivery:
    channel = Channel.objects.create(name="Slack", secret="x", messages_an_hour=2)
    return make_alert(world.live).deliveries.create(channel=channel, change="firing", due=now())


def reason(delivery: Delivery, **changes: object) -> str:
    """After the changes of the delivery."""
    Delivery.objects.filter(pk=delivery.pk).update(**changes)
    found = with_alerts(Delivery.objects.filter(pk=delivery.pk).select_related("channel")).get()
    return Waiting(now()).reason(found)


def test_a_delivery_that_nothing_holds_back_is_sent_within_seconds(delivery: Delivery) -> None:
    assert reason(delivery).startswith("it is sent within seconds")
    later = now() + timedelta(minutes=3)
    assert reason(delivery, due=later) == f"it is sent at {later:%H:%M:%S} UTC"


@pytest.mark.parametrize("state", ["sent", "failed", "unneeded"])
def test_what_is_over_waits_for_nothing(delivery: Delivery, state: str) -> None:
    assert reason(delivery, state=state) == ""


def test_the_silence_that_holds_a_delivery_back_is_named(delivery: Delivery) -> None:
    until = now() + timedelta(hours=1)
    Silence.objects.create(matchers='rule="memory pressure"', expires=until, comment="moving racks")
    assert reason(delivery) == "silence “moving racks” suppresses the alert"
    assert "silence" not in reason(delivery, change="resolved"), "an end is sent nevertheless"


def test_a_receiver_that_is_down_is_named_with_the_next_attempt(delivery: Delivery) -> None:
    due = now() + timedelta(minutes=1)
    found = reason(delivery, attempts=3, last_error="refused", due=due, message_id=uuid4())
    assert found == f"the last attempt failed; it is sent again at {due:%H:%M:%S} UTC"


def test_a_disabled_channel_and_one_at_its_limit_are_named(delivery: Delivery, world: World) -> None:
    for _ in range(2):
        other = make_alert(world.ended, resolved=80, labels={"worker": str(uuid4())})
        other.deliveries.create(
            channel=delivery.channel, change="firing", state="sent", sent=now(), message_id=uuid4()
        )
    assert reason(delivery) == "the channel has sent its 2 messages of this hour"
    Channel.objects.update(enabled=False)
    assert reason(delivery) == "the channel is disabled"


def test_a_message_waits_for_the_one_before_about_its_cluster(delivery: Delivery, world: World) -> None:
    before = make_alert(world.live, "worker lost")
    before.deliveries.create(
        channel=delivery.channel, change="firing", message_id=uuid4(), due=now() + timedelta(minutes=1)
    )
    assert reason(delivery) == "an earlier message about this cluster is not delivered yet"
