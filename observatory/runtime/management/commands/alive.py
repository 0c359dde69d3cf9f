from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory.runtime.health.checks import celery, collector

CHECKS = {"collector": collector, "celery": celery}


class Command(BaseCommand):
    help = "Exits with 0 when a process is alive: a health check for containers."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("process", choices=sorted(CHECKS))

    def handle(self, **options: Any) -> None:
        result = CHECKS[options["process"]]()
        self.stdout.write(f"{result.component}: {result.text}")
        sys.exit(0 if result.ok else 1)
