"""Child processes: their command lines, their environment, and that they end with their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

from observatory.base.environment import CHECKOUT
from observatory.base.memory import ALLOCATOR

PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def python(module: str, *arguments: str) -> list[str]:
    """The command line of a Python module. -P: files of the working directory do not shadow modules."""
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """The environment of a Python process: this process's, and settings of the allocator that it lacks.

    Python finds the same `observatory` from any working directory.
    """
    environment = {**ALLOCATOR, **os.environ}
    if CHECKOUT is None:
        return environment
    path = [str(CHECKOUT), os.environ.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def die_with_parent() -> Callable[[], None]:
    """For `preexec_fn` of subprocess: the kernel kills the child when the thread that started it ends."""
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended in between
            os._exit(1)

    return prepare
