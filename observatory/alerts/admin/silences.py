"""The admin of silences and maintenance windows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.timezone import now
from unfold.decorators import display

from observatory.alerts.admin.project_scope import ProjectScopedAdmin
from observatory.alerts.admin.silence_forms import MaintenanceForm, SilenceForm
from observatory.alerts.models import Alert, MaintenanceWindow, Silence
from observatory.alerts.silences.maintenance import occurrence
from observatory.alerts.silences.suppression import SilenceScope, silence_labels
from observatory.alerts.web.links import moment_path
from observatory.clusters.provisioning.admin import ProvisionedAdmin

MAX_SHOWN = 50


@admin.register(Silence)
class SilenceAdmin(ProvisionedAdmin, ProjectScopedAdmin):
    form = SilenceForm
    fields = ("matchers", "projects", "starts", "expires", "comment", "matched_now")
    readonly_fields = ("matched_now",)
    list_display = ("comment", "matchers", "scope", "state", "starts", "expires", "created_by")
    list_filter = ("expires",)
    search_fields = ("comment", "matchers")
    list_select_related = ("created_by",)
    actions = ["expire_now"]

    @display(description="state", label={"active": "success", "pending": "info"})
    def state(self, silence: Silence) -> str:
        at = now()
        if silence.expires <= at:
            return "expired"
        return "active" if silence.starts <= at else "pending"

    @admin.display(description="matching alerts")
    def matched_now(self, silence: Silence) -> str:
        if silence.pk is None:
            return "Shown after saving."
        shown = [(alert, moment_path(alert)) for alert in _matched(silence)]
        context = {"shown": shown[:MAX_SHOWN], "more": max(0, len(shown) - MAX_SHOWN)}
        return render_to_string("admin/alerts/silence/matched.html", context)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        count = len(_matched(form.instance))
        self.message_user(
            request, f"The silence matches {count} alert{'' if count == 1 else 's'} now.", messages.INFO
        )

    @admin.action(description="Expire now", permissions=["change"])
    def expire_now(self, request: HttpRequest, queryset: QuerySet[Silence]) -> None:
        at = now()
        left = self.without_provisioned(request, queryset)
        count = left.filter(expires__gt=at).update(expires=at)
        self.message_user(
            request, f"Expired: {count}. Alerts that still fire are sent now.", messages.SUCCESS
        )


@admin.register(MaintenanceWindow)
class MaintenanceAdmin(ProvisionedAdmin, ProjectScopedAdmin):
    form = MaintenanceForm
    fields = ("name", "projects", "targets", "starts", "stops", "repeat", "next_time")
    readonly_fields = ("next_time",)
    list_display = ("name", "scope", "repeat", "next_time", "created_by")
    list_filter = ("repeat",)
    search_fields = ("name",)
    list_select_related = ("created_by",)

    @admin.display(description="next window")
    def next_time(self, window: MaintenanceWindow) -> str:
        if window.pk is None:
            return "Shown after saving."
        at = now()
        found = occurrence(window, at)
        if found is None:
            return "over"
        start, stop = (f"{time:%A, %-d %B %Y, %H:%M}" for time in found)
        return f"now, until {stop} UTC" if found[0] <= at else f"{start} to {stop} UTC"


def _matched(silence: Silence) -> list[Alert]:
    """The pending and firing alerts that a silence matches."""
    scope = SilenceScope(silence)
    alerts = Alert.objects.exclude(state=Alert.State.RESOLVED)
    alerts = alerts.select_related("rule", "cluster__project", "cluster__target")
    return [alert for alert in alerts if scope.covers(alert, silence_labels(alert))]
