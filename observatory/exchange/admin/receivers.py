"""The admin of receivers of runs."""

from __future__ import annotations

from django.contrib import admin

from observatory.alerts.admin.sending_admin import SendingAdmin
from observatory.clusters.provisioning.admin import ProvisionedAdmin
from observatory.exchange.admin.receiver_form import ReceiverForm
from observatory.exchange.models import Receiver
from observatory.exchange.receivers.delivery import send_test


@admin.register(Receiver)
class ReceiverAdmin(ProvisionedAdmin, SendingAdmin):
    form = ReceiverForm
    fieldsets = (
        (None, {"fields": ("name", "kind", "address", "headers", "enabled")}),
        ("Which runs", {"fields": ("projects", "run_names")}),
        ("What is sent", {"fields": ("most_tasks", "sends_logs", "sends_metrics", "sends_arguments")}),
    )
    list_display = ("name", "kind", "enabled", "scope", "last_sent", "problem")
    list_filter = ("kind", "enabled")
    search_fields = ("name",)

    def send_test(self, item: Receiver) -> None:
        send_test(item)
