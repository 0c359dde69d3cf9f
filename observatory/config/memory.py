"""How long-running processes return memory to the system: glibc's settings and Python's cyclic garbage."""

from __future__ import annotations

import gc

ALLOCATOR = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""glibc's settings with which memory that is freed returns to the system (mallopt(3)). By default each thread
has an arena of its own, and buffers of some 100 kB stay in it: processes with threads grow for hours.
Only for processes of Python: with a fixed threshold PostgreSQL maps and unmaps memory at each sort."""


def freeze_startup() -> None:
    """Exempt all objects that exist now from garbage collection, when a process has loaded its modules.

    A full collection waits until a quarter of the objects that survived the last one is new. Counted without
    the 200,000 of modules and classes, it runs in minutes instead of an hour, and takes less time.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # counts the survivors again: freeze() leaves the count as it was
