"""`dask-observatory watch URL`: adds a target if the address is that of a Dask scheduler."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.models import Project, Target
from observatory.collect.credentials.command_line import add_arguments, read_credentials
from observatory.collect.forms import TargetForm

DEFAULT_PROJECT = "default"


class Command(BaseCommand):
    help = "Adds a target: the address of a Dask scheduler's dashboard."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help="http://host:8787")
        parser.add_argument(
            "--name", default="", help="name of the target; default: host and port of the address"
        )
        parser.add_argument("--project", default="", help="slug of its project; default: the first project")
        parser.add_argument(
            "--workers",
            choices=Target.Workers.values,
            default=Target.Workers.DIRECT,
            help="how /metrics of workers are requested: at their own addresses (direct), by http://, with "
            "the credentials, or through the scheduler's proxy; default: direct",
        )
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        target = Target(project=find_project(options["project"]))
        data = {
            field.name: getattr(target, field.attname)
            for field in Target._meta.concrete_fields
            if field.name in TargetForm.Meta.fields
        }
        given = {name: options[name] for name in ("url", "name", "workers")}
        form = TargetForm({**data, **given, **read_credentials(options)})
        if not form.is_valid():
            raise CommandError(
                " ".join(str(message) for messages in form.errors.values() for message in messages)
            )
        saved = form.save()
        self.stdout.write(f"{saved.url} is observed as {saved.name!r} in project {saved.project.slug!r}.")


def find_project(slug: str) -> Project:
    """The project with the slug; without a slug the first project, created if there is none."""
    if slug:
        try:
            return Project.objects.get(slug=slug, is_own=False)
        except Project.DoesNotExist:
            raise CommandError(f"There is no project {slug!r}.") from None
    first = Project.objects.filter(is_own=False).order_by("pk").first()
    return first or Project.objects.create(name=DEFAULT_PROJECT.title(), slug=DEFAULT_PROJECT)
