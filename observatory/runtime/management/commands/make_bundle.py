from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from observatory.clusters.models import Project
from observatory.collect.agents.body import BodyError
from observatory.collect.agents.recorded_batches import store_recorded
from observatory.exchange.formats import FORMATS
from observatory.runs.discovery.client_runs import apply_client_runs
from observatory.runs.models import Run
from observatory.runs.refresh import end_of, extend_to_last_tasks, refresh_figures
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runtime.backup.own_database import own_data_folder, writable_database
from observatory.runtime.errors import StartupError
from observatory.wire.batches import BatchError


class Command(BaseCommand):
    help = (
        "Writes the bundle of a run from an agent's batches, in a database of its own: `run(to=…)` runs it."
    )
    is_internal = True
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--run", type=UUID, required=True, help="the id that the client gave it")
        parser.add_argument("--batches", type=Path, required=True, help="a folder of bodies of requests")
        parser.add_argument("--data-dir", required=True, help="an empty folder")

    def handle(self, file: Path, run: UUID, batches: Path, **options: Any) -> None:
        try:
            with own_data_folder() as folder, writable_database(folder):
                call_command("migrate", verbosity=0, skip_checks=True)
                _write(_recorded(run, batches), file)
        except (StartupError, BodyError, BatchError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or file} can't be written: {error.strerror}") from None


def _recorded(id: UUID, batches: Path) -> Run:
    """The run with its figures. Raises CommandError where its start didn't arrive."""
    project = Project.objects.create(name="recorded", slug="recorded")
    for cluster in store_recorded(project, (path.read_bytes() for path in sorted(batches.iterdir()))):
        with transaction.atomic():
            apply_client_runs(cluster)
    run = Run.objects.filter(code_id=id).first()
    if run is None:
        raise CommandError("the agent's records didn't arrive")
    if run.stop is None:  # its end didn't arrive
        run.stop, run.outcome = end_of(run), Run.Outcome.UNSEEN
        run.save(update_fields=["stop", "outcome"])
    extend_to_last_tasks(run)
    refresh_figures(run)
    return run


def _write(run: Run, file: Path) -> None:
    """Replaces the file when the bundle is whole."""
    part = file.with_name(f".{file.name}.part")
    try:
        with part.open("wb") as opened:
            FORMATS["bundle"].write(scope_of_run(run), run.name, opened, lambda done: None)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
