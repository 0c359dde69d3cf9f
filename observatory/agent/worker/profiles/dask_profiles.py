"""Converts Dask's statistical profiles to rows of kind `profile`: the number of samples of each stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from observatory.agent.logs import storable

MAXIMUM_STACK = 100_000
MAXIMUM_STACKS = 5_000
"""Most stacks of one tree."""
ROOT = "root"


def stacks(tree: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(stack, number of samples that ended in it) of a tree of distributed.profile.

    A stack has one line for each frame, outermost first. Dask's profile of tasks does not count a sample in
    its innermost frame, only in the frames around it. The missing samples are assigned to the callee where a
    frame has only one, else to the frame itself.
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
    frame = node["description"]
    return f"{frame.get('name', '')}\t{frame.get('filename', '')}\t{frame.get('line_number', 0)}"


class HistoryReader:
    """Reads new entries (time, profile) of a deque to which Dask appends about once a second."""

    def __init__(self) -> None:
        self._until = 0.0

    def new_entries(self, history: Any) -> list[tuple[float, Any]]:
        """The entries since the last call, oldest first."""
        found: list[tuple[float, Any]] = []
        for time, profile in reversed(list(history)):
            if time <= self._until:
                break
            found.append((time, profile))
        if found:
            self._until = found[0][0]
        return found[::-1]


class Profiles:
    """The profiles of one process."""

    def __init__(self, server: Any, address: str) -> None:
        self.server = server
        self.address = address
        self._tasks = HistoryReader()
        self._loop = HistoryReader()

    def rows(self, delay: float = 0.0) -> Iterator[tuple[Any, ...]]:
        """New rows of kind `profile`. `delay`: seconds that the scheduler's clock is ahead of this one."""
        for time, by_prefix in self._tasks.new_entries(getattr(self.server, "profile_keys_history", ())):
            for prefix, tree in by_prefix.items():
                for stack, count in stacks(tree):
                    yield time, self.address, "task", storable(str(prefix), 500), stack, count
        for time, tree in self._loop.new_entries(getattr(self.server.io_loop, "profile", ())):
            for stack, count in stacks(tree):
                yield time + delay, self.address, "event-loop", "", stack, count
