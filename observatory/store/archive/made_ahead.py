"""Makes each item of a generator in a thread, while the one before is used."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def made_ahead(items: Generator[Item]) -> Generator[Item]:
    """The items, of which the next one is being made. Who does not take all has to close the generator."""
    with ThreadPoolExecutor(1, "made-ahead") as thread:
        following = thread.submit(next, items, None)
        try:
            while (item := following.result()) is not None:
                following = thread.submit(next, items, None)
                yield item
        finally:
            # it is at work until then
            thread.submit(items.close).result()
