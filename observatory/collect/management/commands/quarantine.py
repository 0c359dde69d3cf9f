"""`dask-observatory quarantine`: lists batches that could not be stored, and stores them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.collect.quarantine.encoding import decoded
from observatory.collect.quarantine.folder import STORING, files, folder
from observatory.collect.quarantine.retrying import retry
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds


class Command(BaseCommand):
    help = "Lists batches of records that could not be stored; with --retry stores them."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--retry", action="store_true", help="store them, and remove their files")

    def handle(self, *args: Any, **options: Any) -> None:
        found = files()
        if not found:
            self.stdout.write(f"{folder()} has no batches.")
        elif options["retry"]:
            self._retry()
        else:
            self._list()

    def _list(self) -> None:
        for path in files():
            try:
                about, _, _ = decoded(path.read_bytes())
            except (OSError, ValueError) as error:
                self.stdout.write(f"{path}: {error}")
                continue
            note = " A retry was interrupted: it may be stored." if path.suffix == STORING else ""
            self.stdout.write(
                f"{path}: {about.records:,} records of cluster {about.cluster}, since "
                f"{from_seconds(about.time):%Y-%m-%d %H:%M:%S} UTC: {about.reason}.{note}"
            )

    def _retry(self) -> None:
        failed = 0
        with Writer() as writer:
            for path in files():
                if path.suffix == STORING:
                    self.stderr.write(
                        f"{path}: a retry was interrupted, the batch may be stored. If it is not, rename the "
                        "file to .batch; otherwise remove it."
                    )
                    failed += 1
                    continue
                result = retry(path, writer)
                if result.error:
                    self.stderr.write(f"{path}: {result.error}")
                    failed += 1
                elif result.is_removed:
                    self.stdout.write(f"{path.name}: removed, its cluster was deleted")
                else:
                    left = f", {result.left_out:,} left out" if result.left_out else ""
                    self.stdout.write(f"{path.name}: {result.stored:,} records stored{left}")
        if failed:
            raise CommandError(f"{failed} batches are still in quarantine.")
