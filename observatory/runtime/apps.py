from __future__ import annotations

import logging
import os

from django.apps import AppConfig, apps
from django.db.models.signals import pre_migrate

from observatory.base.variables import unknown_variables

log = logging.getLogger(__name__)


class RuntimeConfig(AppConfig):
    name = "observatory.runtime"

    def ready(self) -> None:
        from observatory.runtime.schema_versions import refuse_unknown_database

        # Django sends the signal of apps with models alone
        store = apps.get_app_config("store")
        pre_migrate.connect(refuse_unknown_database, sender=store, dispatch_uid="unknown databases")
        for name, nearest in unknown_variables(os.environ).items():
            meant = f"did you mean {nearest}?" if nearest else "docs/settings.md lists them"
            log.warning("the environment variable %s is no setting and has no effect: %s", name, meant)
