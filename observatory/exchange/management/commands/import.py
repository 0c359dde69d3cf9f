from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from observatory.clusters.models import Project
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import AlreadyHere, Refused


class Command(BaseCommand):
    help = (
        "Imports a bundle of an Observatory, a cluster dump of Dask (msgpack or YAML), a page of "
        "performance_report or a list of get_task_stream as JSON, and prints the address of the run."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", help="the project's short name; left out where there is one alone")
        parser.add_argument("--name", default="", help="of the run; else the one in the file")

    def handle(self, file: Path, project: str | None, name: str, **options: Any) -> None:
        destination = Destination(self._project(project), name=name[:200])
        try:
            run = import_file(file, destination, lambda done: None, self.stderr.write).pk
        except AlreadyHere as refusal:
            self.stderr.write(str(refusal))
            run = refusal.run
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}") from None
        self.stdout.write(reverse("run", args=[run]))

    def _project(self, slug: str | None) -> Project:
        projects = Project.objects.filter(is_own=False)
        found = list(projects if slug is None else projects.filter(slug=slug))
        if len(found) == 1:
            return found[0]
        known = ", ".join(projects.values_list("slug", flat=True)) or "none"
        asked = "name one with --project" if slug is None else f"there is no project {slug!r}"
        raise CommandError(f"{asked}; there are: {known}")
