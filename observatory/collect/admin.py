"""The Django admin of targets and discoveries. Saving a target probes its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import INPUT_CLASSES, SELECT_CLASSES, TEXTAREA_CLASSES

from observatory.clusters import access
from observatory.clusters.live.status import target_status
from observatory.clusters.models import Discovery, Target
from observatory.clusters.provisioning.admin import ProvisionedAdmin
from observatory.collect.credentials.form import FIELDS, CredentialsForm, UnshownText
from observatory.collect.discovery.form import DiscoveryForm
from observatory.collect.discovery.status import discovery_status
from observatory.collect.forms import TargetForm

if TYPE_CHECKING:
    AdminBase = admin.ModelAdmin[Any]
else:
    AdminBase = ModelAdmin


class CredentialsStyle(CredentialsForm):
    """Fields of credentials look like those of the admin."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in set(FIELDS) & self.fields.keys():
            widget = self.fields[name].widget
            is_text = isinstance(widget, UnshownText)
            widget.attrs["class"] = " ".join(TEXTAREA_CLASSES if is_text else INPUT_CLASSES)


class TargetAdminForm(CredentialsStyle, TargetForm):
    """With the admin's fields of credentials."""


class DiscoveryAdminForm(CredentialsStyle, DiscoveryForm):
    """With the admin's fields of credentials and of kinds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "kind" in self.fields:  # viewers only read it
            self.fields["kind"].widget.attrs["class"] = " ".join(SELECT_CLASSES)


class OfProjectAdmin(ProvisionedAdmin, AdminBase):
    """What editors and owners of a project change, and its viewers see."""

    list_filter = ("project", "enabled")

    def get_readonly_fields(self, request: HttpRequest, obj: Target | Discovery | None = None) -> Any:
        fixed = () if obj is None else ("project",)
        return (*fixed, *self.readonly_fields)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "project":
            kwargs["queryset"] = access.projects_to_set_targets_in(cast(User, request.user))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        user = cast(User, request.user)
        return super().has_add_permission(request) and access.projects_to_set_targets_in(user).exists()

    def has_change_permission(self, request: HttpRequest, obj: Target | Discovery | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._may_set(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Target | Discovery | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_set(request, obj)

    def _may_set(self, request: HttpRequest, item: Target | Discovery | None) -> bool:
        return item is None or access.may_set_targets(cast(User, request.user), item.project)


@admin.register(Target)
class TargetAdmin(OfProjectAdmin):
    form = TargetAdminForm
    list_display = ("name", "project", "url", "discovery", "enabled", "state", "last_seen", "series_count")
    search_fields = ("name", "url")
    list_select_related = ("project", "discovery")
    readonly_fields = ("discovery", "state", "last_seen", "series_count", "series_refused", "clock_offset")

    @admin.display(description="state")
    def state(self, target: Target) -> str:
        if target.pk is None:
            return "-"
        status = target_status(target)
        return f"{status.word}: {status.sentence}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Target]:
        return super().get_queryset(request).filter(pk__in=access.visible_targets(cast(User, request.user)))


@admin.register(Discovery)
class DiscoveryAdmin(OfProjectAdmin):
    form = DiscoveryAdminForm
    list_display = ("name", "project", "kind", "address", "enabled", "state", "answered", "found")
    search_fields = ("name", "address")
    list_select_related = ("project",)
    readonly_fields = ("state", "looked", "answered", "found")

    @admin.display(description="state")
    def state(self, discovery: Discovery) -> str:
        if discovery.pk is None:
            return "-"
        status = discovery_status(discovery)
        return f"{status.word}: {status.sentence}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Discovery]:
        visible = access.visible_discoveries(cast(User, request.user))
        return super().get_queryset(request).filter(pk__in=visible)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)  # a class made for this request
        form.is_superuser = cast(User, request.user).is_superuser  # type: ignore[attr-defined]
        return form
