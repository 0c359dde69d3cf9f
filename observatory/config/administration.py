"""Name, navigation and colours of the admin, for django-unfold (settings.UNFOLD)."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Observing": {
        "clusters.Project": ("Projects", "workspaces"),
        "clusters.Target": ("Targets", "my_location"),
        "clusters.Discovery": ("Discoveries", "radar"),
        "clusters.Cluster": ("Clusters", "hub"),
    },
    "Alerts": {
        "alerts.Rule": ("Rules", "rule"),
        "alerts.Channel": ("Channels", "campaign"),
        "alerts.Delivery": ("Deliveries", "outbox"),
        "alerts.Silence": ("Silences", "notifications_paused"),
        "alerts.MaintenanceWindow": ("Maintenance", "construction"),
    },
    "Sending runs": {
        "exchange.Receiver": ("Receivers", "outbound"),
        "exchange.RunDelivery": ("Sent runs", "outbox_alt"),
    },
    "Access": {
        "auth.User": ("People", "person"),
        "auth.Group": ("Groups of people", "group"),
        "clusters.GroupRole": ("Roles of groups", "badge"),
        "clusters.IngestToken": ("Ingest tokens", "key"),
        "clusters.AccessToken": ("Access tokens", "vpn_key"),
        "axes.AccessAttempt": ("Failed sign-ins", "lock"),
        "clusters.Deletion": ("Deletions", "delete"),
    },
}
"""models with their title and icon in the navigation"""


class AdminConfig(SimpleAdminConfig):
    """config/urls.py loads the admin classes."""

    default_site = "observatory.config.admin_site.ObservatoryAdmin"


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups, with the models that `request.user` may view."""
    groups = [{"title": title, "items": _items(request, models)} for title, models in GROUPS.items()]
    back = {
        "title": "Back to the Observatory",
        "icon": "arrow_back",
        "link": reverse("home"),
        "active": False,
    }
    return [{"items": [back]}, *(group for group in groups if group["items"])]


def _items(request: HttpRequest, models: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    items = []
    for label, (title, icon) in models.items():
        model = apps.get_model(label)
        if admin.site.is_registered(model) and admin.site.get_model_admin(model).has_view_permission(request):
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
            items.append({"title": title, "icon": icon, "link": reverse(name)})
    return items


def no_colors(_: HttpRequest) -> dict[str, Any]:
    """None: they are in admin.css. django-unfold would write a <style>, which the policy forbids."""
    return {}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Dask Observatory",
    "SITE_HEADER": "Observatory",
    "SITE_SUBHEADER": "Administration",
    "SITE_ICON": lambda _: static("frontend/icons/favicon.svg"),
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda _: static("frontend/icons/favicon.svg"),
        }
    ],
    "SHOW_BACK_BUTTON": True,
    "COLORS": no_colors,
    "BORDER_RADIUS": "6px",
    "STYLES": [
        lambda _: static("frontend/styles/site/colors.css"),
        lambda _: static("frontend/styles/site/admin.css"),
    ],
    "SCRIPTS": [
        lambda _: static("frontend/pages/admin/admin.js"),
        lambda _: static("frontend/pages/site/theme.js"),
    ],
    "ACCOUNT": {"navigation": [{"title": "Change password", "link": reverse_lazy("password")}]},
    "SIDEBAR": {"navigation": navigation},
}
