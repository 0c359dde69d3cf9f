from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORKER = """
import sys, time
from observatory.config.celery_beat import app
from observatory.runtime.beat_thread import start_beat
start_beat(app, sys.argv[1]).join()
time.sleep(60)
"""


def test_a_worker_whose_beat_fails_stops_so_that_both_are_started_again(tmp_path: Path) -> None:
    schedule = tmp_path / "missing" / "beat-schedule"
    command = [sys.executable, "-c", WORKER, str(schedule)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == -signal.SIGTERM
    assert "beat failed: the worker stops" in done.stderr
