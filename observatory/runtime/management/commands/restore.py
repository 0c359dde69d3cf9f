from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.runtime.backup.restoring import restore_backup
from observatory.runtime.errors import StartupError


class Command(BaseCommand):
    help = "Restores a backup into an empty data folder or database. Observatory must not run."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `backup` made")
        parser.add_argument("--data-dir", help="the data folder")
        parser.add_argument("--replace", action="store_true", help="delete what is there")

    def handle(self, file: Path, *, replace: bool, **options: Any) -> None:
        try:
            restore_backup(file.absolute(), replace, self.stderr.write)
        except StartupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{file} is restored.")
