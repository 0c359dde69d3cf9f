from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory import __version__
from observatory.runtime.health.checks import run_checks


class Command(BaseCommand):
    help = "Checks each component and says how to fix what fails. Exits with 1 when one fails."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", help="the data folder")

    def handle(self, **options: Any) -> None:
        self.stdout.write(f"Dask Observatory {__version__}")
        failures = 0
        for result in run_checks():
            mark = self.style.SUCCESS("✓") if result.ok else self.style.ERROR("✗")
            self.stdout.write(f"{mark} {result.component}: {result.text}")
            if not result.ok:
                failures += 1
                self.stdout.write(f"  → {result.remedy}")
        if failures:
            self.stdout.write(f"{failures} failed")
            sys.exit(1)
        self.stdout.write("All components work.")
