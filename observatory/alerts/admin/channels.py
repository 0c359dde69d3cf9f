"""The admin of channels. Addresses can be entered, and are never shown."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.timezone import now
from unfold.decorators import action

from observatory.alerts.admin.channel_form import ChannelForm
from observatory.alerts.admin.project_scope import ProjectScopedAdmin
from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.channels import channel_kinds
from observatory.alerts.notifying.errors import SendError
from observatory.alerts.notifying.sending import send_test
from observatory.alerts.web.access import rules_to_name
from observatory.clusters.deletion.admin import DeletableAdmin
from observatory.clusters.provisioning.admin import ProvisionedAdmin

TEST = "alerts_channel_send_a_test"
"""unfold's name of the button"""


@admin.register(Channel)
class ChannelAdmin(ProvisionedAdmin, DeletableAdmin, ProjectScopedAdmin):
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
    actions_submit_line = ["send_a_test"]

    @admin.display(description="kind", ordering="kind")
    def kind_name(self, channel: Channel) -> str:
        return channel_kinds()[channel.kind].name

    @admin.display(description="last sent")
    def last_sent(self, channel: Channel) -> Any:
        delivery = channel.deliveries.filter(state=Delivery.State.SENT).order_by("-sent").first()
        return delivery and delivery.sent

    @admin.display(description="last error")
    def problem(self, channel: Channel) -> str:
        """The error of the last delivery, unless it succeeded."""
        tried = Q(state=Delivery.State.SENT) | ~Q(last_error="")
        last = channel.deliveries.filter(tried).order_by("-due").first()
        return last.last_error if last else ""

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        # unfold adds these buttons only to the change page
        buttons = {"actions_submit_line": cast(Any, self).get_actions_submit_line(request, None)}
        return super().add_view(request, form_url, {**(extra_context or {}), **buttons})

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "rules":
            kwargs["queryset"] = rules_to_name(cast(User, request.user))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def response_post_save_add(self, request: HttpRequest, obj: Channel) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Channel) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_change(request, obj)

    def _after_a_test(self, request: HttpRequest, channel: Channel) -> HttpResponseRedirect | None:
        """Keeps the channel's page open, because its address may have to be corrected."""
        if TEST not in request.POST:
            return None
        return HttpResponseRedirect(reverse("admin:alerts_channel_change", args=[channel.pk]))

    @action(description="Save and send a test", permissions=["change"])
    def send_a_test(self, request: HttpRequest, channel: Channel) -> None:
        try:
            send_test(channel, now())
        except SendError as error:
            self.message_user(request, f"Sending the test failed. {error}", messages.ERROR)
        else:
            self.message_user(request, f"A test was sent to “{channel}”.", messages.SUCCESS)
