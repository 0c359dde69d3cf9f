"""Dask's statistical profiles as rows of kind `profile`: how often each stack was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from observatory.agent.logs import storable

MAXIMUM_STACK = 100_000
MAXIMUM_STACKS = 5_000
"""of one tree"""
ROOT = "root"


def stacks(tree: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(stack, samples that ended in it) of a tree of distributed.profile; a line a frame, outermost first.

    The profile of tasks doesn't count a sample in its innermost frame, only in those around it: where a frame
    has one callee that is where they ended, where it has several Dask doesn't know, and they stay with it.
    """
    found = 0
    waiting: list[tuple[Mapping[str, Any], tuple[str, ...]]] = [(tree, ())]
    while waiting and found < MAXIMUM_STACKS:
        node, above = waiting.pop()
        frames = above if node.get("identifier") == ROOT else (*above, _frame(node))
        children = list(node["children"].values())
        here = node["count"] - sum(child["count"] for child in children)
        ending = (*frames, _frame(children[0])) if len(children) == 1 else frames
        if here > 0 and ending:
            found += 1
            yield storable("\n".join(ending), MAXIMUM_STACK), here
        waiting += [(child, frames) for child in children]


def _frame(node: Mapping[str, Any]) -> str:
    told = node["description"]
    return f"{told.get('name', '')}\t{told.get('filename', '')}\t{told.get('line_number', 0)}"


class History:
    """Follows a deque of (time, what was seen until then), which Dask adds to each second or so."""

    def __init__(self) -> None:
        self._until = 0.0

    def news(self, history: Any) -> list[tuple[float, Any]]:
        """What is new since the time before, oldest first."""
        found: list[tuple[float, Any]] = []
        for time, seen in reversed(list(history)):
            if time <= self._until:
                break
            found.append((time, seen))
        if found:
            self._until = found[0][0]
        return found[::-1]


class Profiles:
    """The profiles of one process, as rows."""

    def __init__(self, server: Any, address: str) -> None:
        self.server = server
        self.address = address
        self._tasks = History()
        self._loop = History()

    def rows(self, delay: float = 0.0) -> Iterator[tuple[Any, ...]]:
        """New rows; `delay` is what the scheduler's clock is ahead of this one."""
        for time, by_prefix in self._tasks.news(getattr(self.server, "profile_keys_history", ())):
            for prefix, tree in by_prefix.items():
                for stack, count in stacks(tree):
                    yield time, self.address, "task", storable(str(prefix), 500), stack, count
        for time, tree in self._loop.news(getattr(self.server.io_loop, "profile", ())):
            for stack, count in stacks(tree):
                yield time + delay, self.address, "event-loop", "", stack, count
