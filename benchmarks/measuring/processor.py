"""The CPU time of processes."""

from __future__ import annotations

from contextlib import suppress

import psutil


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and its running descendants."""
    spent = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it ended just now
            times = one.cpu_times()
            spent += times.user + times.system
    return spent
