"""The admin of sent runs: a read-only log of what was sent to receivers."""

from __future__ import annotations

from typing import cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.timezone import now

from observatory.alerts.admin.delivery_log import DeliveryLogAdmin
from observatory.alerts.web.access import managed
from observatory.clusters import access
from observatory.exchange.models import Receiver, RunDelivery

State = RunDelivery.State


@admin.register(RunDelivery)
class RunDeliveryAdmin(DeliveryLogAdmin):
    """Deliveries can't be edited. Each can be sent again."""

    list_display = ("created", "run", "project", "receiver", "state_label", "attempts", "sent", "outcome")
    list_filter = ("state", ("receiver", admin.RelatedOnlyFieldListFilter), "created")
    search_fields = ("run__name", "last_error")
    list_select_related = ("run__cluster__project", "receiver")
    actions = ["send_again"]

    @admin.display(description="project", ordering="run__cluster__project__name")
    def project(self, delivery: RunDelivery) -> str:
        return str(delivery.run.cluster.project)

    @admin.display(description="outcome")
    def outcome(self, delivery: RunDelivery) -> str:
        """What was sent, or why not."""
        return delivery.last_error or delivery.report

    def get_queryset(self, request: HttpRequest) -> QuerySet[RunDelivery]:
        user = cast(User, request.user)
        receivers, clusters = managed(Receiver.objects.all(), user), access.alerted_clusters(user)
        return (
            super()
            .get_queryset(request)
            .filter(receiver__in=receivers.values("pk"), run__cluster__in=clusters.values("pk"))
        )

    def has_again_permission(self, request: HttpRequest) -> bool:
        return cast(User, request.user).has_perm("exchange.change_rundelivery")

    @admin.action(description="Send again", permissions=["again"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[RunDelivery]) -> None:
        """Sends runs that failed, that wait for their pause, or that were sent before."""
        count = queryset.update(due=now(), state=State.DUE, attempts=0, accepted={})
        self.message_user(request, f"Sending again: {count}.", messages.SUCCESS)
