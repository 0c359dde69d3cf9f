"""Processes that are killed in the middle of their work."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

Operations = Sequence[tuple[Any, str]]
"""functions and methods: what has them, and their name"""


def killed(work: Callable[[], object], of: Operations, operations: int) -> bool:
    """Whether a process that does the work was killed, before or after one of its operations."""
    child = os.fork()
    if not child:
        try:
            _die_after(of, operations)
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _die_after(of: Operations, operations: int) -> None:
    left = operations

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            for moment in ("before", "after"):
                if left <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                if moment == "before":
                    result = function(*args, **kwargs)
            return result

        return wrapped

    for owner, name in of:
        setattr(owner, name, counted(getattr(owner, name)))
