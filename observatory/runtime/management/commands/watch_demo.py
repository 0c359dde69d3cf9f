from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory.clusters.models import Target
from observatory.collect.management.commands.watch import find_project

NAME = "demo"


class Command(BaseCommand):
    help = "Adds the demo's scheduler as a target, or updates the address of the demo's target."
    is_internal = True
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url")

    def handle(self, url: str, **options: Any) -> None:
        project = find_project("")
        if Target.objects.filter(project=project, url=url).update(enabled=True):
            return
        Target.objects.update_or_create(project=project, name=NAME, defaults={"url": url, "enabled": True})
