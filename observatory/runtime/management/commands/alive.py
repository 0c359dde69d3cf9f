from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory.runtime.health.processes import CHECKS, check


class Command(BaseCommand):
    help = "Exits with 0 unless the process of this container has to be restarted: for health checks."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("process", choices=sorted(CHECKS))

    def handle(self, process: str, **options: Any) -> None:
        life = check(process)
        self.stdout.write(f"{process}: {life.text}")
        sys.exit(0 if life.is_alive else 1)
