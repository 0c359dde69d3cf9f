from __future__ import annotations

import logging
import os

from django.apps import AppConfig

from observatory.config.variables import unknown_variables

log = logging.getLogger(__name__)


class RuntimeConfig(AppConfig):
    name = "observatory.runtime"

    def ready(self) -> None:
        for name, nearest in unknown_variables(os.environ).items():
            meant = f"did you mean {nearest}?" if nearest else "docs/settings.md lists them"
            log.warning("the environment variable %s is no setting and has no effect: %s", name, meant)
