"""`dask-observatory collect`: runs a collector until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
from typing import Any

import uvloop
from django.core.management.base import BaseCommand

from observatory.base.memory import exempt_survivors, prepare_for_hours
from observatory.collect.collector.collector import collect


class Command(BaseCommand):
    help = "Runs a collector, which observes targets. Any number of collectors share the targets."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        prepare_for_hours()
        exempt_survivors()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(collect())
