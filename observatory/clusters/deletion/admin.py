"""The admin deletes by the same way as pages, API and command; its log of deletions is read-only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.amounts import Amount, as_text, from_json
from observatory.clusters.deletion.kind import Deletable, kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import COUNTING, preview

if TYPE_CHECKING:
    AdminBase = admin.ModelAdmin[Any]
    DeletionAdminBase = admin.ModelAdmin[Deletion]
else:
    AdminBase = object
    DeletionAdminBase = ModelAdmin


class DeletableAdmin(AdminBase):
    """Comes before ModelAdmin among the bases. One is deleted on its page, several by the action."""

    deletable: ClassVar[str]
    """name of the kind"""

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        subject = self.get_object(request, unquote(object_id))
        if subject is None:
            return super().delete_view(request, object_id, extra_context)
        if not self.has_delete_permission(request, subject):
            raise PermissionDenied
        return redirect("delete", self.deletable, self._kind.reference_to(subject))

    def get_deleted_objects(
        self, objs: Iterable[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """What the action's page shows: what goes, by kind; whom one may not delete; what cannot be now."""
        lines: list[str] = []
        amounts: list[Amount] = []
        forbidden: set[str] = set()
        obstacles: list[str] = []
        subjects = list(objs)
        for subject in subjects:
            shown = preview(self._kind, subject, COUNTING / len(subjects))
            if not self._kind.may_delete(cast(User, request.user), subject):
                forbidden.add(f"{self.deletable} {shown.name}")
            if shown.obstacle:
                obstacles.append(f"{shown.name}: {shown.obstacle}")
            amounts += shown.goes
            lines += [f"{shown.name}: {', '.join(map(as_text, shown.goes))}", *shown.notes]
        counts: dict[str, int] = {}
        for amount in amounts:
            counts[amount.noun] = counts.get(amount.noun, 0) + amount.count
        return lines, counts, forbidden, obstacles

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for subject in queryset:
            try:
                deletions.start(self._kind, subject, cast(User, request.user), Deletion.Door.ADMIN)
            except deletions.Refused as refused:
                self.message_user(request, f"{subject} isn't deleted. {refused}", messages.ERROR)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """None: deletions are a log of their own, and a deleted person is named nowhere."""
        return []

    @property
    def _kind(self) -> Deletable:
        return kinds()[self.deletable]


@admin.register(Deletion)
class DeletionAdmin(DeletionAdminBase):
    """Who deleted what. Only superusers see it, and nobody changes it."""

    list_display = ("created", "kind", "named", "state", "asked_by", "door", "finished", "gone")
    list_filter = ("kind", "state", "door")
    search_fields = ("name", "asked_by__username")
    list_select_related = ("asked_by",)

    @admin.display(description="name", ordering="name")
    def named(self, deletion: Deletion) -> str:
        return deletion.name or f"number {deletion.subject}"

    @admin.display(description="what was deleted")
    def gone(self, deletion: Deletion) -> str:
        return ", ".join(map(as_text, from_json(deletion.amounts)))

    def has_view_permission(self, request: HttpRequest, obj: Deletion | None = None) -> bool:
        return cast(User, request.user).is_superuser

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Deletion | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Deletion | None = None) -> bool:
        return False
