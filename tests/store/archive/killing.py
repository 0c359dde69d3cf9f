"""What happens in the middle of work: its process is killed, or what it works with."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

Operations = Sequence[tuple[Any, str]]
"""functions and methods: what has them, and their name"""


def killed(work: Callable[[], object], of: Operations, operations: int) -> bool:
    """Whether a process that does the work was killed, before or after one of its operations."""
    child = os.fork()
    if not child:
        try:
            with acting(of, operations, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@contextmanager
def acting(of: Operations, operations: int, act: Callable[[], object]) -> Iterator[list[str]]:
    """Do something once, before or after one of the operations; yields its name when it was done."""
    left = operations
    done: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def look(moment: str) -> None:
            nonlocal left
            if left == 0:
                done.append(f"{moment} {name}")
                act()
            left -= 1

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            look("before")
            result = function(*args, **kwargs)
            look("after")
            return result

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in of:
            patch.setattr(owner, name, counted(name, getattr(owner, name)))
        yield done
