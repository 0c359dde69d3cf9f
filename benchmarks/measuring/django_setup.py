"""Django for benchmarks that store records."""

from __future__ import annotations

import atexit
import os

import django


def set_up() -> None:
    """Set Django up: with DATABASE_URL, or else with the PostgreSQL and Valkey that tests start.

    To be called before models are imported.
    """
    if not os.environ.get("DATABASE_URL"):
        from tests.support import services

        services.start()
        atexit.register(services.stop)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
    django.setup()
