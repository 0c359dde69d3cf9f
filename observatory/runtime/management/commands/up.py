from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.options import Options
from observatory.runtime.supervision.up import up


class Command(BaseCommand):
    help = "Runs everything on this machine: database, web, collector, Celery. Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="run a demo cluster as well, in a loop")
        parser.add_argument("--demo-once", action="store_true", help="run the demo cluster's work once")
        parser.add_argument("--data-dir", help="the data folder")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
        parser.add_argument("--verbose", action="store_true", help="print what the programs log, too")

    def handle(self, **options: Any) -> None:
        try:
            up(
                Options(
                    host=options["host"],
                    port=options["port"],
                    demo=options["demo"],
                    demo_once=options["demo_once"],
                    verbose=options["verbose"],
                ),
                self._say,
                self._report_progress,
            )
        except StartupError as error:
            raise CommandError(str(error)) from None

    def _report_progress(self, line: str) -> None:
        """For people alone: what programs read is the one line on stdout."""
        if self.stderr.isatty():
            self.stderr.write(line, self.style.HTTP_INFO)
            self.stderr.flush()

    def _say(self, line: str) -> None:
        self.stdout.write(line, self.style.SUCCESS)
        self.stdout.flush()
