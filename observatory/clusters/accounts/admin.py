"""Admin of users, groups and attempts to sign in.

Only superusers decide who else may do what: a person who may change users, but is no superuser, could
otherwise become one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from axes import admin as axes
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from observatory.clusters.deletion.admin import DeletableAdmin

if TYPE_CHECKING:
    DjangoUserAdminBase = DjangoUserAdmin[User]
else:
    DjangoUserAdminBase = DjangoUserAdmin

PERMISSION_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")

for model in (User, Group, AccessAttempt, AccessLog, AccessFailureLog):
    admin.site.unregister(model)  # registered again below, with the theme


@admin.register(User)
class UserAdmin(DeletableAdmin, DjangoUserAdminBase, ModelAdmin):
    """Superusers change everyone, and delete people. Others with the permission change people without staff
    status, and nobody's permissions."""

    deletable = "person"
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[Any, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        return fields if _is_superuser(request) else fields + PERMISSION_FIELDS

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Also asked before a password is set."""
        return super().has_change_permission(request, obj) and _may_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _is_superuser(request)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Superusers change groups, whose permissions their members have. Others with the permission see them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)


@admin.register(AccessAttempt)
class AccessAttemptAdmin(axes.AccessAttemptAdmin, ModelAdmin):
    pass


@admin.register(AccessLog)
class AccessLogAdmin(axes.AccessLogAdmin, ModelAdmin):
    pass


@admin.register(AccessFailureLog)
class AccessFailureLogAdmin(axes.AccessFailureLogAdmin, ModelAdmin):
    pass


def _is_superuser(request: HttpRequest) -> bool:
    return cast(User, request.user).is_superuser


def _may_change(request: HttpRequest, person: User | None) -> bool:
    return person is None or _is_superuser(request) or not (person.is_staff or person.is_superuser)
