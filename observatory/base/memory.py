"""How long-running processes return memory to the system: glibc's settings and Python's cyclic garbage."""

from __future__ import annotations

import ctypes
import gc
import os
import time

ALLOCATOR = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""glibc's settings with which memory that is freed returns to the system (mallopt(3)). By default each thread
has an arena of its own, and buffers of some 100 kB stay in it: processes with threads grow for hours.
Only for processes of Python: with a fixed threshold PostgreSQL maps and unmaps memory at each sort."""

MALLOPT = {"MALLOC_ARENA_MAX": -8, "MALLOC_MMAP_THRESHOLD_": -3, "MALLOC_TRIM_THRESHOLD_": -1}
"""their numbers for mallopt()"""

THAW = 900.0
"""seconds after which a full collection looks at all objects again"""
THRESHOLDS = (1_000, 20, 25)
"""of gc.set_threshold(): a full collection waits for half a million new objects"""


def use_allocator_settings() -> None:
    """Apply ALLOCATOR to this process, which has begun without it. Variables of the environment win."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only
    if mallopt is None:
        return
    for name, value in ALLOCATOR.items():
        if name not in os.environ:
            mallopt(MALLOPT[name], int(value))


def prepare_for_hours() -> None:
    """To be called when a process has loaded its modules: garbage and free memory then leave it soon."""
    _freeze_startup()
    _trim_after_collections()


def exempt_survivors() -> None:
    """Exempts what a full collection has left from the next ones, for THAW seconds.

    For a process that remembers millions of objects: a full collection of all of them takes it a second, and
    whatever waits is late. Those that are not in cycles are freed as always.
    """
    thawed = time.monotonic()

    def around_collection(phase: str, info: dict[str, int]) -> None:
        nonlocal thawed
        if info["generation"] != 2:
            return
        if phase == "stop":
            gc.freeze()
        elif time.monotonic() - thawed > THAW:
            thawed = time.monotonic()
            gc.unfreeze()

    gc.set_threshold(*THRESHOLDS)
    gc.callbacks.append(around_collection)


def _freeze_startup() -> None:
    """Exempts all objects that exist now from garbage collection.

    A full collection waits until a quarter of the objects that survived the last one is new. Counted without
    the 200,000 of modules and classes, it runs in minutes instead of an hour, and takes less time.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # counts the survivors again: freeze() leaves the count as it was


def _trim_after_collections() -> None:
    """Returns free memory to the system after each full collection (malloc_trim(3)).

    By itself glibc returns only what is free at the end of an arena. Rows that libpq has read lie between
    what lives longer: after the largest answer a process would keep its size for good.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is None:
        return

    def after_collection(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            trim(0)

    gc.callbacks.append(after_collection)
