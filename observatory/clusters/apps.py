from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "observatory.clusters"
    verbose_name = "Projects and clusters"

    def ready(self) -> None:
        import_module("observatory.clusters.removal")
        import_module("observatory.clusters.accounts.departures")
        import_module("observatory.clusters.accounts.password_change")
        import_module("observatory.clusters.audit.sign_ins")
