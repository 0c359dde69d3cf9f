"""`dask-observatory audit`: the audit log as JSON lines."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.reading import EntryFilter, lines_after
from observatory.clusters.models import Project

CHUNK = 1000
INTERVAL = 1.0
"""seconds between two looks for new entries"""


class Command(BaseCommand):
    help = "Prints the audit log, who did what, as JSON lines: the oldest entry first."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", nargs="?", default="", help="short name: only its entries")
        parser.add_argument("--after", type=int, default=0, metavar="ID", help="only those after this one")
        parser.add_argument("--action", choices=AuditEntry.Action.values, default="")
        parser.add_argument("--person", default="", help="a part of the name of who acted")
        parser.add_argument("--follow", action="store_true", help="go on with what comes")

    def handle(self, *args: Any, project: str, after: int, follow: bool, **options: Any) -> None:
        if project and not Project.objects.filter(slug=project).exists():
            raise CommandError(f"There is no project {project!r}.")
        wanted = EntryFilter(project, options["person"], options["action"])
        while True:
            lines, after = lines_after(None, wanted, after, CHUNK)
            for line in lines:
                self.stdout.write(line, ending="")
            if len(lines) == CHUNK:
                continue
            if not follow:
                return
            self.stdout.flush()
            time.sleep(INTERVAL)
