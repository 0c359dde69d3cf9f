"""What owners of projects may do in the admin, by their role: the permissions on what alerts and the
sending of runs are set up with.

The admin limits them to their projects (access.managed).
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend

from observatory.clusters.access import Person, projects_to_manage

MODELS = {
    "alerts": ("rule", "condition", "channel", "delivery", "silence", "maintenancewindow"),
    "exchange": ("receiver", "rundelivery"),
}
"""by application"""
PERMISSIONS = frozenset(
    f"{application}.{action}_{model}"
    for application, models in MODELS.items()
    for model in models
    for action in ("view", "add", "change", "delete")
)


class OwnersBackend(BaseBackend):
    """Signs nobody in. Django asks it for permissions, besides those that were set by hand."""

    def get_user_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        return set(PERMISSIONS) if owns_a_project(user_obj) else set()

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return app_label in MODELS and owns_a_project(user_obj)


def owns_a_project(user: Person) -> bool:
    """Asks once for a user, which each request reads anew. False for superusers, who own nothing."""
    known: bool | None = getattr(user, "_owns_a_project", None)
    if known is None:
        known = not user.is_superuser and projects_to_manage(user).exists()
        user._owns_a_project = known  # type: ignore[union-attr]
    return known
