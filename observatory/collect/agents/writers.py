"""The writers of the web process, for agents and for Prometheus, and the shares of projects in them."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager

from observatory.store.ingest.joint_writer import JointWriter
from observatory.store.places.shares import LOAD, Shares

WRITERS = 4
MAXIMUM_WAITING = 32
"""requests of a project, each of which has a thread and up to 16 MiB on disk"""
LONGEST_WAIT = 10.0
"""seconds that a request waits for its project's share"""
SHARES = Shares(WRITERS, MAXIMUM_WAITING, LONGEST_WAIT, LOAD)

_writers: queue.LifoQueue[JointWriter] = queue.LifoQueue()
for _ in range(WRITERS):
    _writers.put(JointWriter())


@contextmanager
def writer() -> Iterator[JointWriter]:
    """The writer that was used last: it remembers most."""
    one = _writers.get()
    try:
        yield one
    finally:
        _writers.put(one)
