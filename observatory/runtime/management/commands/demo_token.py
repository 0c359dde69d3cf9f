from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from observatory.clusters.tokens import ingest_tokens
from observatory.clusters.tokens.models import IngestToken
from observatory.collect.management.commands.watch import find_project

NAME = "demo"


class Command(BaseCommand):
    help = "Makes and prints an ingest token for the demo's agent and revokes the one before."
    is_internal = True
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        project = find_project("")
        IngestToken.objects.filter(project=project, name=NAME).delete()
        _, secret = ingest_tokens.make(project, NAME, None)
        self.stdout.write(secret)
