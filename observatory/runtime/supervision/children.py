"""Child processes that don't outlive us, however we end."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def dying_with_us() -> Callable[[], None]:
    """For subprocess' `preexec_fn`: the kernel kills the child when the thread that started it ends."""
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # we ended in between
            os._exit(1)

    return prepare
