"""`dask-observatory why`: the findings of the tab Why? on the terminal."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.runs.management.terminal import SCOPE_HELP, clean, find_scope
from observatory.store.connection import connect_reader
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.lines import lines_of
from observatory.why.kept import StillLooking
from observatory.why.marks.marked import marked_findings
from observatory.why.window import TooManyTasks


class Command(BaseCommand):
    help = "Prints what cost time in a run or a cluster, or made it fail. It is that of the tab Why?."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("of", metavar="RUN|CLUSTER", help=SCOPE_HELP)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = find_scope(options["of"])
        with connect_reader() as connection:
            try:
                found = marked_findings(connection, scope, 0, MAXIMUM_TIME)
            except (TooManyTasks, StillLooking) as error:
                raise CommandError(f"{scope.name or scope.cluster.name}: {error}") from None
        for line in lines_of(found):
            self.stdout.write(clean(line))
