"""The Celery application is that of all threads."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.runtime.machine import manage

PROGRAM = """
import threading
import django
django.setup()
from observatory.why.tasks import keep_main_findings

found = []
def ask():
    found.append(keep_main_findings.app.main)
def load():
    import observatory.config.celery

for target in (ask, load, ask):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
print(found[-1])
"""


def test_a_thread_that_asked_for_a_task_before_has_the_broker_as_well(tmp_path: Path) -> None:
    settings = {
        "DJANGO_SETTINGS_MODULE": "observatory.config.settings",
        "OBSERVATORY_DATA_DIR": str(tmp_path),
    }
    done = manage("-c", PROGRAM, program=(sys.executable,), **settings)
    assert done.stdout.split() == ["observatory"], done.stderr
