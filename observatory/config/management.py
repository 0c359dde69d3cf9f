"""Runs Django's management commands with the settings of this process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility

from observatory.config.environment import use_data_dir


class Utility(ManagementUtility):
    """Django's; the garbage collector, which the start does without, runs while a command does."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        gc.enable()
        return command


def execute(program: str, arguments: Sequence[str]) -> None:
    """Exits with one line when a variable of the environment is wrong."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
    use_data_dir(arguments)
    try:
        settings.DATA_DIR  # noqa: B018  (reads and checks the environment)
    except ImproperlyConfigured as error:
        sys.exit(f"Error: {error}")
    Utility([program, *arguments]).execute()
