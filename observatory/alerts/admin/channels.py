"""The admin of channels."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.timezone import now

from observatory.alerts.admin.channel_form import ChannelForm
from observatory.alerts.admin.sending_admin import SendingAdmin
from observatory.alerts.models import Channel
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.sending import send_test
from observatory.alerts.web.access import rules_to_name
from observatory.clusters.deletion.admin import DeletableAdmin
from observatory.clusters.provisioning.admin import ProvisionedAdmin


@admin.register(Channel)
class ChannelAdmin(ProvisionedAdmin, DeletableAdmin, SendingAdmin):
    deletable = "channel"
    form = ChannelForm
    fieldsets = (
        (None, {"fields": ("name", "kind", "address", "enabled")}),
        ("Which alerts", {"fields": ("minimum_severity", "projects", "rules", "tells_resolved")}),
        ("How often", {"fields": ("messages_an_hour", "repeat_hours")}),
    )
    filter_horizontal = ("rules",)
    list_display = ("name", "kind_name", "enabled", "minimum_severity", "scope", "last_sent", "problem")
    list_filter = ("kind", "enabled")
    search_fields = ("name",)

    @admin.display(description="kind", ordering="kind")
    def kind_name(self, channel: Channel) -> str:
        return channel_kinds()[channel.kind].name

    def send_test(self, item: Channel) -> None:
        send_test(item, now())

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "rules":
            kwargs["queryset"] = rules_to_name(cast(User, request.user))
        return super().formfield_for_manytomany(db_field, request, **kwargs)
