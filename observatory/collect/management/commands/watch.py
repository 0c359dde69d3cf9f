"""`dask-observatory watch URL`: adds a target, unless it can't be reached or is no Dask scheduler."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.models import Project, Target
from observatory.collect.forms import TargetForm

DEFAULT_PROJECT = "default"


class Command(BaseCommand):
    help = "Adds the address of a Dask scheduler's dashboard to what is observed."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help="http://host:8787")
        parser.add_argument(
            "--name", default="", help="what pages call it; default: the address' host and port"
        )
        parser.add_argument(
            "--project", default="", help="slug of its project; default: the only or first one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target = Target(project=find_project(options["project"]))
        data = {
            field.name: getattr(target, field.attname)
            for field in Target._meta.concrete_fields
            if field.name in TargetForm.Meta.fields
        }
        form = TargetForm({**data, "url": options["url"], "name": options["name"]})
        if not form.is_valid():
            raise CommandError(
                " ".join(str(message) for messages in form.errors.values() for message in messages)
            )
        saved = form.save()
        self.stdout.write(f"{saved.url} is observed as {saved.name!r} in project {saved.project.slug!r}.")


def find_project(slug: str) -> Project:
    """The project of that slug, or without one the first; made when there is none at all."""
    if slug:
        try:
            return Project.objects.get(slug=slug)
        except Project.DoesNotExist:
            raise CommandError(f"There is no project {slug!r}.") from None
    first = Project.objects.order_by("pk").first()
    return first or Project.objects.create(name=DEFAULT_PROJECT.title(), slug=DEFAULT_PROJECT)
