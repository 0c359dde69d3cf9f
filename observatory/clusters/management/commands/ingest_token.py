from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens


class Command(BaseCommand):
    help = (
        "Makes an ingest token for agents that report into a project, and prints it: it is shown this once."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's short name, as in its address")
        parser.add_argument("--name", default="made by dask-observatory", help="what uses the token")

    def handle(self, project: str, name: str, **options: Any) -> None:
        found = Project.objects.filter(slug=project, is_own=False).first()
        if found is None:
            known = ", ".join(Project.objects.filter(is_own=False).values_list("slug", flat=True))
            raise CommandError(f"there is no project {project!r}; there are: {known or 'none'}")
        try:
            _, secret = ingest_tokens.make(found, name[:100], None)
        except ValidationError as error:
            raise CommandError(error.messages[0]) from None
        self.stdout.write(secret)
