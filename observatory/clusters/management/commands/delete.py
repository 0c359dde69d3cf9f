"""`dask-observatory delete`: deletes a project, cluster, rule, channel or person with all that is theirs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.amounts import as_text, from_json
from observatory.clusters.deletion.kind import Deletable, kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import Preview, preview
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import DELETIONS, try_lock


class Command(BaseCommand):
    help = (
        "Deletes a project (by its short name), a cluster (by its number), a rule or channel (by its name or "
        "number) or a person (by the user name) with all that is theirs. Shows it, then asks for the name."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", help="project, cluster, rule, channel or person")
        parser.add_argument("name", help="its name or number, as the kind has it")
        parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
        parser.add_argument("--yes", action="store_true", help="don't ask")

    def handle(self, kind: str, name: str, dry_run: bool, yes: bool, **options: Any) -> None:
        found = kinds().get(kind)
        if found is None:
            raise CommandError(f"there is no kind {kind!r}; there are: {', '.join(kinds())}")
        shown = preview(found, self._subject(found, name))
        self._show(shown)
        if shown.obstacle:
            raise CommandError(f"{shown.name} cannot be deleted now. {shown.obstacle}")
        if dry_run:
            self.stdout.write("Nothing was deleted.")
            return
        if not yes and input(f"Type {shown.name} to delete it: ").strip() != shown.name.strip():
            raise CommandError("that isn't its name: nothing was deleted")
        self._delete(shown)

    def _subject(self, kind: Deletable, name: str) -> Any:
        found = list(kind.referred(name)[:2])
        if not found:
            raise CommandError(f"there is no {kind.name} {name!r}")
        if len(found) > 1:
            raise CommandError(f"several have the name {name!r}: give the number in the address of its page")
        return found[0]

    def _show(self, shown: Preview) -> None:
        self.stdout.write(f"{shown.kind.name.capitalize()} {shown.name}:")
        for amount in shown.goes:
            self.stdout.write(f"  {as_text(amount)}")
        if shown.stays:
            self.stdout.write("These stay without it:")
        for amount in shown.stays:
            self.stdout.write(f"  {as_text(amount)}")
        for sentence in shown.notes:
            self.stdout.write(sentence)

    def _delete(self, shown: Preview) -> None:
        """In this process. What is left when it is stopped is deleted by Celery."""
        deletion = deletions.note(shown.kind, shown.subject, None, Deletion.Door.COMMAND)
        with connect() as connection, try_lock(connection, deletion.pk, DELETIONS) as is_ours:
            if not is_ours:
                raise CommandError(f"{shown.name} is being deleted by another process")
            deletions.perform(deletion, self._print_progress)
        deletion.refresh_from_db()
        gone = ", ".join(as_text(amount) for amount in from_json(deletion.amounts))
        self.stdout.write(f"Deleted: {gone}.")

    def _print_progress(self, share: float) -> None:
        self.stderr.write(f"{int(100 * share)} %")
