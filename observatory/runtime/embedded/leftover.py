"""Servers that a killed `up` left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

PATIENCE = 10.0


def stop_leftovers(program: str, folder: Path, number: signal.Signals) -> None:
    """Stops the processes of `program` that work in `folder`; whoever holds its lock may.

    A process id in a file would be no proof: after a restart of the machine it is somebody else's.
    """
    deadline = time.monotonic() + PATIENCE
    asked: set[int] = set()
    while left := _processes(program, folder):
        if time.monotonic() > deadline:
            number, asked = signal.SIGKILL, set()
        for process in left - asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        asked |= left
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
        except OSError:  # it ended, or is somebody else's
            continue
    return found
