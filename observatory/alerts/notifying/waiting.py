"""Says why a notification is not sent yet."""

from __future__ import annotations

from datetime import datetime

from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.delivery import OPEN, remaining_messages
from observatory.alerts.notifying.message import Change
from observatory.alerts.silences.suppression import Suppressions

State = Delivery.State


class Waiting:
    """Why deliveries wait at a time of our clock, by the same rules as decisions.py and delivery.py."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self._suppressions = Suppressions(at)
        self._remaining: dict[int, int] = {}
        """messages that channels may still send in this hour"""

    def reason(self, delivery: Delivery) -> str:
        """Ends a sentence that begins with “waits:”; "" for a delivery that is not open.

        Reads its channel, and its alert's rule, cluster, project and target.
        """
        if delivery.state not in OPEN:
            return ""
        if not delivery.channel.enabled:
            return "the channel is disabled"
        if delivery.state == State.SENDING:
            return "it is being sent"
        if delivery.last_error and delivery.due > self.at:
            return f"the last attempt failed; it is sent again at {delivery.due:%H:%M:%S} UTC"
        if delivery.change != Change.RESOLVED and (suppression := self._suppressions.reason(delivery.alert)):
            return f"{suppression} suppresses the alert"
        if delivery.message_id is None and self._remaining_of(delivery.channel) <= 0:
            return f"the channel has sent its {delivery.channel.messages_an_hour} messages of this hour"
        if self._waits_for_another(delivery):
            return "an earlier message about this cluster is not delivered yet"
        if delivery.due > self.at:
            return f"it is sent at {delivery.due:%H:%M:%S} UTC"
        return "it is sent within seconds; if it is not, dask-observatory doctor says why"

    def _remaining_of(self, channel: Channel) -> int:
        if channel.pk not in self._remaining:
            self._remaining[channel.pk] = remaining_messages(channel, self.at)
        return self._remaining[channel.pk]

    def _waits_for_another(self, delivery: Delivery) -> bool:
        others = Delivery.objects.filter(
            channel=delivery.channel_id, alert__cluster=delivery.alert.cluster_id, state__in=OPEN
        )
        return (
            delivery.message_id is None and others.exclude(message_id=None).exclude(pk=delivery.pk).exists()
        )
