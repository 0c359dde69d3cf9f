"""The CPU time of processes."""

from __future__ import annotations

import psutil


def used(process: psutil.Process) -> float:
    """Seconds of a process and of all that it started and that still run."""
    spent = 0.0
    for one in (process, *process.children(recursive=True)):
        times = one.cpu_times()
        spent += times.user + times.system
    return spent
