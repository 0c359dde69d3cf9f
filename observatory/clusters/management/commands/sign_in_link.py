from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from observatory.clusters.accounts.sign_in_links import first_administrator_link


class Command(BaseCommand):
    help = "Prints a link that signs the first administrator in, once and within the hour."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("base_url", help="where a browser finds this Observatory: http://127.0.0.1:8000")

    def handle(self, **options: Any) -> None:
        self.stdout.write(first_administrator_link(options["base_url"]))
