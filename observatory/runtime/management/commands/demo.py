from __future__ import annotations

from argparse import ArgumentParser

from observatory.runtime.management.commands import up


class Command(up.Command):
    help = "Runs everything as `up` does, with a demo cluster to look at."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(demo=True)
