"""What the logs of notifications and of sent runs share: they can't be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

if TYPE_CHECKING:
    DeliveryLogAdminBase = admin.ModelAdmin[Any]
else:
    DeliveryLogAdminBase = ModelAdmin


class DeliveryLogAdmin(DeliveryLogAdminBase):
    """For models with `state` and `created`."""

    date_hierarchy = "created"
    show_full_result_count = False

    @display(
        description="state",
        ordering="state",
        label={"due": "info", "sending": "info", "sent": "success", "failed": "danger"},
    )
    def state_label(self, delivery: Any) -> tuple[str, str]:
        return delivery.state, delivery.get_state_display()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
