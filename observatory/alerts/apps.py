from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AlertsConfig(AppConfig):
    name = "observatory.alerts"

    def ready(self) -> None:
        import_module("observatory.alerts.scope_changes")
        ready_made = import_module("observatory.alerts.rules.ready_made")
        post_migrate.connect(ready_made.make_after_migrations, sender=self, dispatch_uid="ready-made rules")
