from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.runtime.configuration.exporting import export


class Command(BaseCommand):
    help = (
        "Writes projects, targets, rules and channels to a folder, as YAML that `apply` reads. Secrets stay "
        "out of it: the files name the environment variables that have to have them."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="is made; if there is one, it has to be empty")

    def handle(self, folder: Path, **options: Any) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} is there, and isn't an empty folder")
        exported = export()
        try:
            for name, text in exported.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{error.filename} can't be written: {error.strerror}") from None
        self.stdout.write(f"{len(exported.files)} files are written to {folder}.")
        for note in exported.notes:
            self.stdout.write(note)
        if exported.variables:
            self.stdout.write("These secrets were entered by people. Before `apply`, set the variables:")
        for name in exported.variables:
            self.stdout.write(f"  {name}")
