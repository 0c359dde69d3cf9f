"""Recordings that take seconds to make and that several modules read."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from typing import TypeVar

from tests.support.services import SHARED

T = TypeVar("T")


def made_once(name: str, make: Callable[[], T]) -> T:
    """What `make` returns in the first process of the session that needs it; the others wait for it."""
    path = SHARED / f"{name}.pickle"
    with (SHARED / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    made: T = pickle.loads(path.read_bytes())
    return made
