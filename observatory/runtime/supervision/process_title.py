"""The command line of this process as others see it, such as `ps`."""

from __future__ import annotations

import ctypes
from pathlib import Path


def set_title(title: str) -> None:
    """Overwrite the arguments that the kernel put on the stack. What is longer than they are is cut off."""
    start, stop = _arguments()
    if start == 0:  # the kernel does not tell
        return
    ctypes.memmove(start, title.encode().ljust(stop - start, b"\0"), stop - start - 1)


def _arguments() -> tuple[int, int]:
    """Where they begin and end (proc_pid_stat(5): arg_start, arg_end)."""
    # the second field, the name in parentheses, may have spaces
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[45]), int(fields[46])
