"""Runs Django's management commands with the settings of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from observatory.base.environment import use_data_dir


def execute(program: str, arguments: Sequence[str]) -> None:
    """Exits with one line when a variable of the environment is wrong."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
    use_data_dir(arguments)
    try:
        settings.DATA_DIR  # noqa: B018  (reads and checks the environment)
    except ImproperlyConfigured as error:
        sys.exit(f"Error: {error}")
    execute_from_command_line([program, *arguments])
