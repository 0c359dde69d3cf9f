"""`dask-observatory discover KIND ADDRESS`: adds a discovery if its list can be had."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from observatory.clusters.models import Discovery, Target
from observatory.collect.credentials.command_line import add_arguments, read_credentials
from observatory.collect.discovery.applying import apply
from observatory.collect.discovery.asking import ask_all
from observatory.collect.discovery.form import DiscoveryForm
from observatory.collect.discovery.kinds import discovery_kinds
from observatory.collect.management.commands.watch import find_project


class Command(BaseCommand):
    help = "Adds a discovery: the list of clusters that Prometheus, Kubernetes or dask-gateway have."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=discovery_kinds())
        parser.add_argument("address", nargs="?", default="", help="where the list is")
        parser.add_argument("--name", default="", help="name of the discovery; default: host of the address")
        parser.add_argument("--project", default="", help="slug of its project; default: the first project")
        parser.add_argument("--namespace", default="", help="of Kubernetes; default: all")
        parser.add_argument("--interval", type=float, default=30.0, help="seconds between requests")
        parser.add_argument(
            "--workers",
            choices=Target.Workers.values,
            default=Target.Workers.DIRECT,
            help="how /metrics of workers of found targets are requested; default: direct",
        )
        parser.add_argument(
            "--share-credentials",
            action="store_true",
            dest="shares_credentials",
            help="send the credentials to found targets, too",
        )
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        discovery = Discovery(project=find_project(options["project"]))
        data = {
            field.name: getattr(discovery, field.attname)
            for field in Discovery._meta.concrete_fields
            if field.name in DiscoveryForm.Meta.fields
        }
        given = {name: options[name] for name in DiscoveryForm.Meta.fields if name in options}
        given["project"] = discovery.project_id
        form = DiscoveryForm({**data, **given, **read_credentials(options)})
        form.is_superuser = True  # who has a shell of the server
        if not form.is_valid():
            raise CommandError(
                " ".join(str(message) for messages in form.errors.values() for message in messages)
            )
        self._add(form)

    def _add(self, form: DiscoveryForm) -> None:
        """Saves the discovery with what it finds, unless its list cannot be had."""
        asked = form.save(commit=False)
        [(_, answer)] = ask_all([asked])
        if answer.error:
            raise CommandError(answer.reason)
        asked.looked = timezone.now()
        asked.save()
        apply(asked, answer)
        asked.refresh_from_db()
        for target in asked.targets.all():
            self.stdout.write(f"{target.url} is observed as {target.name!r}.")
        if asked.warning:
            self.stdout.write(asked.warning)
        self.stdout.write(
            f"{asked.found} found by {asked.name!r} in project {asked.project.slug!r}, "
            f"which is asked every {asked.interval:g} s."
        )
