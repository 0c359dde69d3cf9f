"""A process that is killed in the middle of an import leaves nothing that anybody would have to clean up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from django.conf import settings

from tests.exchange.files import Store
from tests.support.projects import World

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, time
from pathlib import Path
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[3]
django.setup()
from observatory.clusters.models import Project
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file

def progress(done):
    if done > 0.9:
        print("nearly", flush=True)
        time.sleep(60)

import_file(Path(sys.argv[1]), Destination(Project.objects.get(slug=sys.argv[2])), progress)
"""


def test_a_killed_import_leaves_no_row(bundle: Path, world: World, store: Store) -> None:
    before = store.counts()
    name = settings.DATABASES["default"]["NAME"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(bundle), "beta", name],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "observatory.config.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "nearly\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    assert store.counts() == before
