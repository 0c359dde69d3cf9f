"""The form of channels."""

from __future__ import annotations

from observatory.alerts.admin.address_form import AddressForm
from observatory.alerts.models import Channel
from observatory.alerts.notifying.addresses import clean_address
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.secrets import decrypt, encrypt
from observatory.alerts.web.access import require_room_for_a_channel


class ChannelForm(AddressForm):
    class Meta:
        model = Channel
        fields = (
            "name",
            "kind",
            "enabled",
            "minimum_severity",
            "projects",
            "rules",
            "tells_resolved",
            "messages_an_hour",
            "repeat_hours",
        )

    def require_room(self) -> None:
        require_room_for_a_channel(self.user)

    def cleaned_address(self, kind: str, text: str) -> str:
        return clean_address(channel_kinds()[kind], text)

    def stored_address(self) -> str:
        return decrypt(self.instance.secret)

    def examples(self) -> dict[str, str]:
        return {kind.name: kind.examples for kind in channel_kinds().values()}

    def save(self, commit: bool = True) -> Channel:
        if self.cleaned_data.get("address"):
            self.instance.secret = encrypt(self.cleaned_data["address"])
        saved: Channel = super().save(commit)
        return saved
