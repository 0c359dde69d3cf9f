from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from observatory.exchange.attachments.attach import Placement, attach
from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import Run


def parse_start(text: str) -> datetime:
    """Raises ArgumentTypeError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time such as 2026-11-28T12:03:30") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class Command(BaseCommand):
    help = (
        "Attaches a profile in speedscope's format or a trace in the Trace Event Format to a run, and prints "
        "the address of its profile."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--run", type=int, required=True, help="number of the run")
        parser.add_argument(
            "--start",
            type=parse_start,
            help="when the file begins, such as 2026-11-28T12:03:30 (UTC); else as it tells, or with the run",
        )
        parser.add_argument("--worker", default="", help="name or address of the worker; else by process ids")

    def handle(self, file: Path, run: int, start: datetime | None, worker: str, **options: Any) -> None:
        found = Run.objects.select_related("cluster").filter(pk=run).first()
        if found is None:
            raise CommandError(f"there is no run {run}")
        try:
            made = attach(file, file.name, found, Placement(start, worker), None, lambda done: None)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}") from None
        if made.remarks:
            self.stderr.write(made.remarks)
        self.stdout.write(f"{reverse('run', args=[found.pk])}?tab=profile")
