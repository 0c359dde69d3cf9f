"""Other processes that compute on the machine meanwhile."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

LONGEST = 120
"""seconds after which they end by themselves"""
COMPUTE = f"import time\nstop = time.monotonic() + {LONGEST}\nwhile time.monotonic() < stop: pass"


@contextlib.contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    neighbours = [subprocess.Popen([sys.executable, "-c", COMPUTE]) for _ in range(count)]
    try:
        yield
    finally:
        for one in neighbours:
            one.kill()
            one.wait()
