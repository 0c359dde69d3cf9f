"""Runs a generator in a thread of its own, one item ahead of who uses them.

A generator goes on from where it was, so that one thread makes all items. Row groups of a scan do not depend
on each other: threads that all scans share test them (scans/reading_ahead.py).
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def in_own_thread(items: Generator[Item]) -> Generator[Item]:
    """The same items. Who does not take all of them has to close the generator."""
    with ThreadPoolExecutor(1, "own-thread") as thread:
        following = thread.submit(next, items, None)
        try:
            while (item := following.result()) is not None:
                following = thread.submit(next, items, None)
                yield item
        finally:
            # it is at work until then
            thread.submit(items.close).result()
