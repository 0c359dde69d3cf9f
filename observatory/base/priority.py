"""The priority of processes that work in the background: others come first where processors are short."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NICENESS = 5
"""a third of the share of others: what waits for tiles and exports on a busy machine still gets them"""
TRIES, PAUSE = 8, 0.12
"""seconds"""
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
_is_lower = False


def lower_own() -> None:
    """Lowers the priority of this process."""
    global _is_lower
    _is_lower = True
    with _own_files():
        lower(os.getpid())


def is_lower() -> bool:
    """Whether this process has a lower priority than others."""
    return _is_lower


def lower(process: int) -> None:
    """Lowers the priority of a process; ignores one of somebody else.

    Linux shares processors among sessions before processes (sched(7): autogroup).
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process, NICENESS)
    with suppress(OSError):
        _write_of_group(Path(f"/proc/{process}/autogroup"))


def _write_of_group(file: Path) -> None:
    """Linux takes one such value in a tenth of a second of all processes that aren't root's."""
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            file.write_text(str(NICENESS))
            return
        time.sleep(PAUSE)


@contextmanager
def _own_files() -> Iterator[None]:
    """Of a process that was root's, the files in /proc stay root's: for a moment they are its own."""
    control = getattr(ctypes.CDLL(None), "prctl", None)  # Linux only
    before = control(PR_GET_DUMPABLE, 0, 0, 0, 0) if control is not None else 1
    if control is None or before == 1:
        yield
        return
    control(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        yield
    finally:
        control(PR_SET_DUMPABLE, before, 0, 0, 0)
