"""The admin shows what is provisioned, says where it is changed, and does not change it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from observatory.clusters.provisioning.marks import mark_of, places_of, refusal

if TYPE_CHECKING:
    AdminBase = admin.ModelAdmin[Any]
else:
    AdminBase = object


SAVING = ("show_save", "show_save_and_continue", "show_save_and_add_another")
"""Django's names of the buttons"""


class ProvisionedAdmin(AdminBase):
    """Comes before ModelAdmin among the bases."""

    change_form_outer_before_template = "clusters/provisioning/admin_note.html"
    is_tried_when_provisioned = False
    """whether its form can be filled in, to try changes that can't be saved"""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if not super().has_change_permission(request, obj):
            return False
        is_reading = request.method in ("GET", "HEAD") and self.is_tried_when_provisioned
        return is_reading or not self._is_provisioned(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not self._is_provisioned(obj)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Also of who may change what isn't provisioned."""
        allowed = super().has_view_permission(request, obj) or super().has_change_permission(request, obj)
        return bool(allowed)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        item = self.get_object(request, object_id) if object_id else None
        mark = mark_of(item) if item is not None else None
        context = {**(extra_context or {}), "provisioned": mark and refusal(mark)}
        if mark:
            context |= dict.fromkeys(SAVING, False)
        return super().changeform_view(request, object_id, form_url, context)

    def get_list_display(self, request: HttpRequest) -> Any:
        return (*super().get_list_display(request), "provisioned_from")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The places of all rows of a page are read at once."""
        changelist = super().get_changelist_instance(request)
        places = places_of(changelist.result_list)
        for item in changelist.result_list:
            item.provisioned_place = places.get(item.pk, "")
        return changelist

    @admin.display(description="provisioned from")
    def provisioned_from(self, item: Any) -> str:
        return str(item.provisioned_place)

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        """Where cells of the list can be changed, those of provisioned rows can't."""
        form = super().get_changelist_form(request, **kwargs)

        class ListForm(form):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                if is_provisioned(self.instance):
                    for field in self.fields.values():
                        field.disabled = True

        return ListForm

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        """The page of the action "delete" names them as what stands against it."""
        subjects = list(objs)
        lines, counts, forbidden, obstacles = super().get_deleted_objects(subjects, request)
        marks = ((subject, mark_of(subject)) for subject in subjects)
        refusals = [f"{subject}: {refusal(mark)}" for subject, mark in marks if mark]
        return lines, counts, forbidden, [*obstacles, *(text for text in refusals if text not in obstacles)]

    def without_provisioned(self, request: HttpRequest, items: QuerySet[Any]) -> QuerySet[Any]:
        """For actions on several; a message says which were left out."""
        places = places_of(items)
        if places:
            text = f"{len(places)} left as they are: they are provisioned from files, and are changed there."
            self.message_user(request, text, messages.WARNING)
        return items.exclude(pk__in=places)

    def _is_provisioned(self, item: Any) -> bool:
        """django-unfold gives the number in the address instead of the row."""
        if item is None or isinstance(item, Model):
            return is_provisioned(item)
        return str(item).isdecimal() and is_provisioned(self.model(pk=int(item)))


def is_provisioned(item: Model | None) -> bool:
    """Asked several times for a page, so it is kept with the row."""
    if item is None or item.pk is None:
        return False
    if not hasattr(item, "has_mark"):
        item.has_mark = mark_of(item) is not None  # type: ignore[attr-defined]
    return bool(item.has_mark)  # type: ignore[attr-defined]
