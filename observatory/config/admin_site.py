"""The admin: of staff, and of owners of projects, who set up the alerts of their projects there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.core.paginator import InvalidPage
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver
from unfold.sites import UnfoldAdminSite

from observatory.alerts.web.owners import owns_a_project
from observatory.clusters.access import projects_to_manage
from observatory.clusters.models import Project

if TYPE_CHECKING:
    AdminSiteBase = AdminSite
else:
    AdminSiteBase = UnfoldAdminSite


class ObservatoryAdmin(AdminSiteBase):
    index_template = "pages/site/admin_index.html"

    def has_permission(self, request: HttpRequest) -> bool:
        """Also true for owners, but not on the pages of models that they have no part in: the admin classes
        refuse those, too, but differently for ids that exist and others."""
        is_owner = owns_a_project(cast(User, request.user))
        return super().has_permission(request) or (is_owner and _is_for_owners(request))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        user = cast(User, request.user)
        owned = Project.objects.none() if user.is_staff else projects_to_manage(user)
        return super().index(request, {**(extra_context or {}), "owned": owned})

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        try:
            return cast(HttpResponseBase, super().search(request, extra_context))  # type: ignore[misc]
        except (ValueError, InvalidPage):
            raise Http404("The search has no such page.") from None

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Without the redirects to pages of objects: no model has any, and the answer tells which exist."""
        return [url for url in super().get_urls() if getattr(url, "name", "") != "view_on_site"]


def _is_for_owners(request: HttpRequest) -> bool:
    model_admin = getattr(request.resolver_match and request.resolver_match.func, "model_admin", None)
    return model_admin is None or model_admin.has_module_permission(request)
