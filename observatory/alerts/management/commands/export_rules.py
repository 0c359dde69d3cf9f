from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from observatory.alerts.models import Rule
from observatory.alerts.prometheus.files import export_rules


class Command(BaseCommand):
    help = "Writes the rules as a Prometheus rule file to the standard output."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", nargs="*", help="name of a rule; none: all")

    def handle(self, *args: Any, **options: Any) -> None:
        rules = Rule.objects.prefetch_related("conditions")
        if options["name"]:
            rules = rules.filter(name__in=options["name"])
        self.stdout.write(export_rules(rules), ending="")
