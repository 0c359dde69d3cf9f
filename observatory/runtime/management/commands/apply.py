from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from observatory.clusters.provisioning.models import DEFAULT_SOURCE
from observatory.runtime.configuration.applying import Busy, Changed, Wrong, apply, release
from observatory.runtime.configuration.changes import Act, Plan
from observatory.runtime.configuration.documents import NoFolder
from observatory.runtime.configuration.secrets import SecretReader

CHANGES = 2
"""exit code of a plan that isn't empty, as terraform's"""


class Command(BaseCommand):
    help = (
        "Makes projects, targets, rules and channels as the YAML files of a folder say. Shows what it adds, "
        "changes and removes, and refuses all of it when anything is wrong."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, nargs="?", help="with .yaml files, also in folders of it")
        parser.add_argument(
            "--plan", action="store_true", help="only show it; exits with 2 if there is something to do"
        )
        parser.add_argument("--yes", action="store_true", help="don't ask before something is removed")
        parser.add_argument("--secrets", type=Path, help="folder with the files that secrets refer to")
        parser.add_argument(
            "--source", default=DEFAULT_SOURCE, help="name of the folder, where several are applied"
        )
        parser.add_argument(
            "--release", action="store_true", help="change nothing, and let people edit all of the source"
        )

    def handle(self, folder: Path | None, plan: bool, yes: bool, source: str, **options: Any) -> None:
        if not 0 < len(source) <= 100:
            raise CommandError("the name of a source has 1 to 100 characters")
        try:
            if options["release"]:
                self.stdout.write(f"{release(source)} are no longer provisioned. They stay as they are.")
                return
            if folder is None:
                raise CommandError("name the folder with the files")
            self._apply(folder, source, SecretReader(options["secrets"]), plan, yes)
        except Wrong as wrong:
            count = len(wrong.lines)
            for line in wrong.lines:
                self.stderr.write(line)
            problems = "1 problem" if count == 1 else f"{count} problems"
            raise CommandError(f"{problems}: nothing was changed") from None
        except (NoFolder, Busy, Changed) as error:
            raise CommandError(str(error)) from None

    def _apply(self, folder: Path, source: str, secrets: SecretReader, is_plan: bool, is_sure: bool) -> None:
        planned = apply(folder, source, secrets, is_plan=True)
        for line in planned.lines():
            self.stdout.write(line)
        if is_plan:
            if planned.changes:
                sys.exit(CHANGES)
            return
        if not is_sure and planned.count(Act.REMOVE):
            self._ask(planned)
        done = apply(folder, source, secrets, expected=planned)
        if done.changes:
            self.stdout.write("Applied.")

    def _ask(self, planned: Plan) -> None:
        count = planned.count(Act.REMOVE)
        if not sys.stdin.isatty():
            raise CommandError(f"{count} would be removed: look at the plan, then use --yes")
        if input(f"Type {count} to remove that many: ").strip() != str(count):
            raise CommandError("nothing was changed")
