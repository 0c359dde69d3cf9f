from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory import __version__
from observatory.runtime.health.components import all_findings


class Command(BaseCommand):
    help = "Checks each component and says how to fix what fails. Exits with 1 when one fails."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", help="the data folder")

    def handle(self, **options: Any) -> None:
        self.stdout.write(f"Dask Observatory {__version__}")
        faults = 0
        for finding in all_findings():
            mark = self.style.SUCCESS("✓") if finding.fine else self.style.ERROR("✗")
            self.stdout.write(f"{mark} {finding.component}: {finding.text}")
            if not finding.fine:
                faults += 1
                self.stdout.write(f"  → {finding.remedy}")
        if faults:
            self.stdout.write(f"{faults} to fix")
            sys.exit(1)
        self.stdout.write("All is well.")
