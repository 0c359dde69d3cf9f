from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.alerts.prometheus.document import DocumentError
from observatory.alerts.prometheus.files import import_rules
from observatory.clusters.models import Project


class Command(BaseCommand):
    help = "Imports a rule file of Prometheus or Grafana and lists what isn't supported."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--enable", action="store_true", help="enable the imported rules")
        parser.add_argument(
            "--project",
            action="append",
            default=[],
            help="slug of a project that the rules apply to; none: all",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        projects = list(Project.objects.filter(slug__in=options["project"]))
        unknown = set(options["project"]) - {project.slug for project in projects}
        if unknown:
            raise CommandError(f"Unknown project: {', '.join(sorted(unknown))}.")
        try:
            text = options["file"].read_text()
            imported = import_rules(text, options["enable"], projects)
        except (OSError, UnicodeDecodeError, DocumentError) as error:
            raise CommandError(str(error)) from None
        for rule in imported.rules:
            self.stdout.write(f"Imported: {rule}")
        for name, note in imported.notes:
            self.stdout.write(f"  {name}: {note}")
        for left in imported.left_out:
            self.stdout.write(f"Left out: {left}")
