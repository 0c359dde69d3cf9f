"""The CPU time of processes."""

from __future__ import annotations

from contextlib import suppress

import psutil


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and its descendants, with those that ended and were waited for."""
    spent = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it ended just now
            times = one.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent
