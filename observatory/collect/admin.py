"""The Django admin of targets. Saving a target probes its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import INPUT_CLASSES, TEXTAREA_CLASSES

from observatory.clusters import access
from observatory.clusters.models import Target
from observatory.clusters.status import target_status
from observatory.collect.credentials.form import FIELDS, UnshownText
from observatory.collect.forms import TargetForm

if TYPE_CHECKING:
    TargetAdminBase = admin.ModelAdmin[Target]
else:
    TargetAdminBase = ModelAdmin


class TargetAdminForm(TargetForm):
    """Fields of credentials look like those of the admin."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in set(FIELDS) & self.fields.keys():
            widget = self.fields[name].widget
            is_text = isinstance(widget, UnshownText)
            widget.attrs["class"] = " ".join(TEXTAREA_CLASSES if is_text else INPUT_CLASSES)


@admin.register(Target)
class TargetAdmin(TargetAdminBase):
    form = TargetAdminForm
    list_display = ("name", "project", "url", "enabled", "state", "last_seen", "series_count")
    list_filter = ("project", "enabled")
    search_fields = ("name", "url")
    list_select_related = ("project",)
    readonly_fields = ("state", "last_seen", "series_count", "series_refused", "clock_offset")

    @admin.display(description="state")
    def state(self, target: Target) -> str:
        if target.pk is None:
            return "-"
        status = target_status(target)
        return f"{status.word}: {status.sentence}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Target]:
        return super().get_queryset(request).filter(pk__in=access.visible_targets(cast(User, request.user)))

    def get_readonly_fields(self, request: HttpRequest, obj: Target | None = None) -> tuple[str, ...]:
        fixed = () if obj is None else ("project",)
        return (*fixed, *self.readonly_fields)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "project":
            kwargs["queryset"] = access.projects_to_set_targets_in(cast(User, request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        user = cast(User, request.user)
        return super().has_add_permission(request) and access.projects_to_set_targets_in(user).exists()

    def has_change_permission(self, request: HttpRequest, obj: Target | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_set(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Target | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_set(request, obj)

    def _may_set(self, request: HttpRequest, target: Target | None) -> bool:
        return target is None or access.may_set_targets(cast(User, request.user), target.project)
