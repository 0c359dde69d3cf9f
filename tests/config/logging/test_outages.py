"""What Celery logs of tasks that fail."""

from __future__ import annotations

import os
import subprocess
import sys

TASKS = """
import os
import django
django.setup()
from observatory.config.celery import app
app.log.setup("INFO")
from observatory.alerts.tasks import evaluate_shard

@app.task
def fail():
    raise ValueError("a fault of ours")

evaluate_shard.apply((0,))
fail.apply()
"""


def test_a_task_in_an_outage_is_a_line_and_another_failure_has_its_traceback() -> None:
    nowhere = "postgresql://observatory@127.0.0.1:1/observatory"
    done = subprocess.run(
        [sys.executable, "-c", TASKS],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "observatory.config.settings",
            "DATABASE_URL": nowhere,
            "OBSERVATORY_LOG_FORMAT": "line",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    failed = [number for number, line in enumerate(lines) if "ERROR celery.app.trace: Task" in line]
    assert len(failed) == 2
    outage, fault = failed
    assert "observatory.alerts.tasks.evaluate_shard" in lines[outage]
    assert not any("Traceback" in line for line in lines[:fault]), done.stderr
    assert lines[fault + 1].startswith("Traceback")
    assert lines[-1] == "ValueError: a fault of ours"
