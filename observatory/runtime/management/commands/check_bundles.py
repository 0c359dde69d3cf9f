from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from observatory.clusters.models import Project
from observatory.comparison.check.check import Limits, check
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import AlreadyHere, Refused
from observatory.runs.models import Run
from observatory.runtime.backup.own_database import own_data_folder, writable_database
from observatory.runtime.errors import StartupError
from observatory.store.connection import read_connection
from observatory.why.findings.of_runs import look_at


def _share(text: str) -> float | None:
    return None if text == "off" else float(text)


def _count(text: str) -> int | None:
    return None if text == "off" else int(text)


class Command(BaseCommand):
    help = "Checks bundles against bundles in a database of their own, and prints JSON: `check` runs it."
    is_internal = True
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", type=Path)
        parser.add_argument("--against", action="append", type=Path, required=True)
        parser.add_argument("--slower", type=_share, default=0.1)
        parser.add_argument("--memory", type=_share, default=0.1)
        parser.add_argument("--errors", type=_count, default=0)
        parser.add_argument("--data-dir", required=True, help="an empty folder")

    def handle(self, runs: Sequence[Path], against: Sequence[Path], **options: Any) -> None:
        limits = Limits(options["slower"], options["memory"], options["errors"])
        try:
            with own_data_folder() as folder, writable_database(folder):
                call_command("migrate", verbosity=0, skip_checks=True)
                project = Project.objects.create(name="bundles", slug="bundles")
                self.stdout.write(json.dumps(_checks(project, runs, against, limits)))
        except StartupError as error:
            raise CommandError(str(error)) from None


def _checks(
    project: Project, runs: Sequence[Path], against: Sequence[Path], limits: Limits
) -> list[dict[str, Any]]:
    earlier = {run.pk: run for run in (_imported(project, path) for path in against)}
    newest_first = sorted(earlier.values(), key=lambda run: (run.start, run.pk), reverse=True)
    found = []
    for path in runs:
        run = _imported(project, path)
        with read_connection() as connection:
            found.append(check(connection, run, _earlier(run, newest_first), limits))
    return found


def _earlier(run: Run, newest_first: Sequence[Run]) -> list[Run]:
    """Those of its name; all others where none has its name."""
    others = [each for each in newest_first if each.pk != run.pk]
    return [each for each in others if each.name == run.name] or others


def _imported(project: Project, path: Path) -> Run:
    """The run of a bundle with its findings; a file that is named twice is imported once."""
    try:
        run = import_file(path, Destination(project), lambda done: None)
    except AlreadyHere as known:
        return Run.objects.get(pk=known.run)
    except Refused as refusal:
        raise CommandError(f"{path.name}: {refusal}") from None
    except OSError as error:
        raise CommandError(f"{path.name} can't be read: {error.strerror}") from None
    look_at(run)
    return Run.objects.get(pk=run.pk)
