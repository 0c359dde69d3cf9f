from __future__ import annotations

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "observatory.runs"
    verbose_name = "Runs"
