"""The admin of receivers of runs. Addresses can be entered, and are never shown."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from unfold.decorators import action

from observatory.alerts.admin.project_scope import ProjectScopedAdmin
from observatory.alerts.notifying.errors import SendError
from observatory.exchange.admin.receiver_form import ReceiverForm
from observatory.exchange.models import Receiver, RunDelivery
from observatory.exchange.receivers.kinds import receiver_kind
from observatory.exchange.receivers.secrets import decrypt

TEST = "exchange_receiver_send_a_test"
"""unfold's name of the button"""


@admin.register(Receiver)
class ReceiverAdmin(ProjectScopedAdmin):
    form = ReceiverForm
    fieldsets = (
        (None, {"fields": ("name", "kind", "address", "headers", "enabled")}),
        ("Which runs", {"fields": ("projects", "run_names")}),
        ("What is sent", {"fields": ("most_tasks", "sends_logs", "sends_metrics", "sends_arguments")}),
    )
    list_display = ("name", "kind", "enabled", "scope", "last_sent", "problem")
    list_filter = ("kind", "enabled")
    search_fields = ("name",)
    actions_submit_line = ["send_a_test"]

    @admin.display(description="last sent")
    def last_sent(self, receiver: Receiver) -> Any:
        delivery = receiver.deliveries.filter(state=RunDelivery.State.SENT).order_by("-sent").first()
        return delivery and delivery.sent

    @admin.display(description="last error")
    def problem(self, receiver: Receiver) -> str:
        """The error of the last run that was tried, unless it was sent."""
        tried = Q(state=RunDelivery.State.SENT) | ~Q(last_error="")
        last = receiver.deliveries.filter(tried).order_by("-due").first()
        return last.last_error if last else ""

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        # unfold adds these buttons only to the change page
        buttons = {"actions_submit_line": cast(Any, self).get_actions_submit_line(request, None)}
        return super().add_view(request, form_url, {**(extra_context or {}), **buttons})

    def response_post_save_add(self, request: HttpRequest, obj: Receiver) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Receiver) -> HttpResponseRedirect:
        return self._after_a_test(request, obj) or super().response_post_save_change(request, obj)

    def _after_a_test(self, request: HttpRequest, receiver: Receiver) -> HttpResponseRedirect | None:
        """Keeps the receiver's page open, because its address may have to be corrected."""
        if TEST not in request.POST:
            return None
        return HttpResponseRedirect(reverse("admin:exchange_receiver_change", args=[receiver.pk]))

    @action(description="Save and send a test", permissions=["change"])
    def send_a_test(self, request: HttpRequest, receiver: Receiver) -> None:
        try:
            receiver_kind(receiver.kind).send_test(decrypt(receiver.secret))
        except SendError as error:
            self.message_user(request, f"Sending the test failed. {error}", messages.ERROR)
        else:
            self.message_user(request, f"A test was sent to “{receiver}”.", messages.SUCCESS)
