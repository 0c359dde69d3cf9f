"""`dask-observatory collect`: runs a collector until it is told to stop."""

from __future__ import annotations

import asyncio
from typing import Any

from django.core.management.base import BaseCommand

from observatory.collect.collector.collector import collect


class Command(BaseCommand):
    help = "Observes targets: any number of these processes share them."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(collect())
