from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "observatory.exchange"
    verbose_name = "Exports and imports"

    def ready(self) -> None:
        import_module("observatory.exchange.deletion")
