from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.runtime.backup.making import make_backup
from observatory.runtime.errors import StartupError


class Command(BaseCommand):
    help = "Backs everything up into one file: database, secret key, files of exports. Observatory may run."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a new file; whoever can read it can sign in")
        parser.add_argument("--data-dir", help="the data folder")

    def handle(self, file: Path, **options: Any) -> None:
        try:
            size = make_backup(file.absolute(), self.stderr.write)
        except StartupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{file}: {size / 1e6:.1f} MB")
