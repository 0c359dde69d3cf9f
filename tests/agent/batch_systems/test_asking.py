"""The command of a batch system is asked in bounded time, and a bad one disturbs nothing."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from observatory.agent.batch_systems.slurm import SLURM
from observatory.agent.batch_systems.systems import with_queue
from observatory.agent.worker.queue_report import AnotherAsks, claim
from observatory.wire.workers.batch_jobs import BatchJob
from tests.agent.eventually import eventually

JOB = BatchJob("slurm", "12")


def asked(folder: Path, script: str, timeout: float = 60) -> BatchJob:
    """The job after a squeue that is a shell script."""
    program = folder / "squeue"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    environ = {"SLURM_JOB_ID": "12", "PATH": f"{folder}:{os.environ['PATH']}"}
    return with_queue(SLURM, JOB, environ, timeout)


def test_an_answer_is_read(tmp_path: Path) -> None:
    assert asked(tmp_path, "echo '100|150|5:00'").waited == 50


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo '100|150|5:00'; exit 3",
        "printf '\\377\\376|x'",
        "head -c 5000000 /dev/zero",
        "exec /nonexistent",
    ],
    ids=["fails", "fails after an answer", "no text", "too much", "no program"],
)
def test_what_is_no_answer_changes_nothing(script: str, tmp_path: Path) -> None:
    assert asked(tmp_path, script) == JOB


def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    assert asked(tmp_path, f"sleep 600 & echo $! > {started}; wait", timeout=2) == JOB
    pid = int(started.read_text())
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_without_the_command_it_is_unknown(tmp_path: Path) -> None:
    assert with_queue(SLURM, JOB, {"SLURM_JOB_ID": "12", "PATH": str(tmp_path)}) == JOB


def test_of_the_workers_of_a_job_on_a_machine_one_asks_and_another_when_it_has_gone() -> None:
    first = claim(JOB)
    assert first is not None
    code = f"from observatory.agent.worker.queue_report import *; claim({JOB!r})"
    other = [sys.executable, "-c", f"from observatory.wire.workers.batch_jobs import BatchJob; {code}"]
    assert "AnotherAsks" in subprocess.run(other, capture_output=True, text=True, check=False).stderr
    with pytest.raises(AnotherAsks):
        claim(JOB)
    with contextlib.closing(claim(replace(JOB, restarts=1)) or socket.socket()):
        first.close()
        subprocess.run(other, check=True)
