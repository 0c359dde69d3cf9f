"""Servers left running by an `up` that was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

TIMEOUT = 10.0


def stop_orphans(program: str, folder: Path, number: signal.Signals) -> None:
    """Stop the processes of `program` with the working directory `folder`. The caller must have its lock.

    A process id in a file is no proof: after a reboot it can be another program's.
    """
    deadline = time.monotonic() + TIMEOUT
    signalled: set[int] = set()
    while left := _processes(program, folder):
        if time.monotonic() > deadline:
            number, signalled = signal.SIGKILL, set()
        for process in left - signalled:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        signalled |= left
        time.sleep(0.1)


def _processes(program: str, folder: Path) -> set[int]:
    found = set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            runs = os.path.basename(os.readlink(f"/proc/{entry}/exe")).removesuffix(" (deleted)")
            if runs == program and os.path.samefile(f"/proc/{entry}/cwd", folder):
                found.add(int(entry))
        except OSError:  # it ended, or belongs to another user
            continue
    return found
