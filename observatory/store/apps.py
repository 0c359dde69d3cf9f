from __future__ import annotations

from django.apps import AppConfig


class StoreConfig(AppConfig):
    name = "observatory.store"
    label = "store"
