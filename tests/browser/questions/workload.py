"""What the tasks of the recording do; its workers import this."""

from __future__ import annotations

import logging
import os
import signal
import time
from typing import Any


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def crunch(seconds: float) -> int:
    """Computes in pure Python, which holds the GIL."""
    deadline = time.monotonic() + seconds
    total = 0
    while time.monotonic() < deadline:
        total += sum(range(1000))
    return total


def make(size: int) -> bytes:
    return b"x" * size


def measure(blob: bytes) -> int:
    logging.getLogger("distributed.worker").warning("measured a blob of %d bytes", len(blob))
    return len(blob)


def nap_with(_: bytes, seconds: float) -> float:
    return nap(seconds)


def first_is_slow(block: Any, seconds: float) -> Any:
    """A block of an array; the first one takes `seconds`, in which the agent sees the shuffle."""
    if block.flat[0] == 0:
        time.sleep(seconds)
    return block


def check(row: int) -> None:
    raise ValueError(f"bad row {row}")


def look_up(name: str) -> None:
    raise KeyError(name)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
