from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory.runtime.health.components import all_findings


class Command(BaseCommand):
    help = "Says of each component whether it works, and what to do about it. Exits with 1 on a fault."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        # read by manage.py, before the settings
        parser.add_argument("--data-dir", help="the folder of all that is kept")

    def handle(self, **options: Any) -> None:
        faults = 0
        for finding in all_findings():
            mark = self.style.SUCCESS("✓") if finding.fine else self.style.ERROR("✗")
            self.stdout.write(f"{mark} {finding.component}: {finding.text}")
            if not finding.fine:
                faults += 1
                self.stdout.write(f"  → {finding.remedy}")
        if faults:
            self.stdout.write(f"{faults} to mend")
            sys.exit(1)
        self.stdout.write("All is well.")
