"""Waiting for what happens, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(found: Callable[[], Any], seconds: float = 120) -> Any:
    """Wait until found() is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
    return result
