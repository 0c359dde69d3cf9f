#!/usr/bin/env python
import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from observatory.config.environment import use_data_dir

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
    use_data_dir(sys.argv)
    try:
        settings.DATA_DIR  # noqa: B018  (reads the environment, and complains)
    except ImproperlyConfigured as error:
        sys.exit(f"Error: {error}")
    execute_from_command_line(sys.argv)
