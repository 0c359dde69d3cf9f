"""The admin of deliveries: a read-only log of notifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.timezone import now

from observatory.alerts.admin.delivery_log import DeliveryLogAdmin
from observatory.alerts.models import Channel, Delivery
from observatory.alerts.notifying.waiting import Waiting
from observatory.alerts.web.access import managed
from observatory.clusters import access

State = Delivery.State


@admin.register(Delivery)
class DeliveryAdmin(DeliveryLogAdmin):
    """Deliveries can't be edited. Failed and waiting ones can be retried."""

    list_filter = ("state", "change", ("channel", admin.RelatedOnlyFieldListFilter), "created")
    search_fields = ("alert__message", "alert__rule__name", "alert__cluster__name", "last_error")
    list_select_related = ("alert__rule", "alert__cluster__project", "alert__cluster__target", "channel")
    actions = ["retry"]

    def get_list_display(self, request: HttpRequest) -> tuple[str | Callable[[Delivery], str | bool], ...]:
        waiting = Waiting(now())

        @admin.display(description="waits because", empty_value="")
        def reason(delivery: Delivery) -> str:
            return waiting.reason(delivery)

        first = ("created", "alert", "cluster", "channel", "change", "state_label")
        return (*first, reason, "attempts", "sent", "last_error")

    @admin.display(description="cluster", ordering="alert__cluster__name")
    def cluster(self, delivery: Delivery) -> str:
        return delivery.alert.cluster.name

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        user = cast(User, request.user)
        channels, clusters = managed(Channel.objects.all(), user), access.alerted_clusters(user)
        return (
            super()
            .get_queryset(request)
            .filter(channel__in=channels.values("pk"), alert__cluster__in=clusters.values("pk"))
        )

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return cast(User, request.user).has_perm("alerts.change_delivery")

    @admin.action(description="Retry now", permissions=["retry"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Sends failed deliveries as a new message, and waiting ones without their pause."""
        again = {"due": now(), "state": State.DUE}
        waiting = queryset.filter(state=State.DUE).update(**again)
        failed = queryset.filter(state=State.FAILED).update(**again, attempts=0, message_id=None)
        self.message_user(request, f"Retrying: {waiting + failed}.", messages.SUCCESS)
