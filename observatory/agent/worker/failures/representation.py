"""Represents the arguments of a failed task, in bounded time and length.

`reprlib` sorts dicts, copies what it does not know, and lets a `repr` raise and take as long as it wants.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

MOST_ARGUMENTS = 20
MOST_ITEMS = 6
"""of a container"""
DEEPEST = 3
"""containers within each other"""
LONGEST = 300
"""characters of one argument"""
LONGEST_ITEM = 100
LONGEST_NUMBER = 256
"""bits of a whole number"""
TIME_LIMIT = 0.1
"""seconds for all arguments of a task; the worker's event loop waits for them"""
UNFINISHED = "(the rest took too long to represent)"


class Representations:
    """Calls each `repr` in a thread of its own, which is left alone when it takes too long."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def describe(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """The arguments, one a line."""
        if self._thread is not None and self._thread.is_alive():
            return UNFINISHED  # one thread at most is stuck in a task's objects
        lines: list[str] = []
        is_done = threading.Event()

        def run() -> None:
            for name, value in islice(_named(args, kwargs), MOST_ARGUMENTS):
                lines.append(f"{name}{represent(value)}"[:LONGEST])
            is_done.set()

        self._thread = threading.Thread(target=run, name="observatory-arguments", daemon=True)
        self._thread.start()
        is_in_time = is_done.wait(TIME_LIMIT)
        found = list(lines)
        left = len(args) + len(kwargs) - MOST_ARGUMENTS
        if not is_in_time:
            found.append(UNFINISHED)
        elif left > 0:
            found.append(f"({left} more)")
        return "\n".join(found)


def _named(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield from (("", value) for value in args)
    yield from ((f"{name}=", value) for name, value in kwargs.items())


def represent(value: Any, depth: int = 0) -> str:
    """A `repr` of one line: containers with their first items, texts with their beginning."""
    try:
        return " ".join(_represent(value, depth).splitlines())
    except BaseException as error:  # whatever a `__repr__` raises, in a thread of its own
        return f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"


def _represent(value: Any, depth: int) -> str:
    kind = type(value)
    if issubclass(kind, str | bytes | bytearray):
        base: Any = next(base for base in (str, bytes, bytearray) if issubclass(kind, base))
        start = base.__getitem__(value, slice(LONGEST_ITEM))
        return repr(start) + ("…" if base.__len__(value) > LONGEST_ITEM else "")
    if kind is int and value.bit_length() > LONGEST_NUMBER:
        return f"<int of {value.bit_length()} bits>"
    for base, (opening, closing, items) in CONTAINERS.items():
        if issubclass(kind, base):
            return _container(opening, closing, items(value), base.__len__(value), depth)
    if kind.__module__ == "dask._task_spec":
        return _represent_node(value, depth)
    found = repr(value)
    return found if len(found) <= LONGEST else found[: LONGEST - 1] + "…"


def _container(opening: str, closing: str, items: Iterable[Any], count: int, depth: int) -> str:
    if depth >= DEEPEST:
        return f"{opening}…{closing}"
    shown = [
        f"{represent(item[0], depth + 1)}: {represent(item[1], depth + 1)}"
        if isinstance(item, _Pair)
        else represent(item, depth + 1)
        for item in islice(items, MOST_ITEMS)
    ]
    if count > MOST_ITEMS:
        shown.append(f"… {count - MOST_ITEMS} more")
    return opening + ", ".join(shown) + closing


class _Pair(tuple[Any, Any]):
    """An item of a dict."""


def _represent_node(node: Any, depth: int) -> str:
    """Dask's stand-in for the result of another task, for a value, or for a container with one of them."""
    name = type(node).__name__
    if name == "DataNode":
        return represent(node.value, depth)
    if name in ("TaskRef", "Alias"):
        return f"<result of {represent(node.key if name == 'TaskRef' else node.target)}>"
    args = getattr(node, "args", ())
    return f"{name.lower()}{_container('(', ')', iter(args), len(args), depth)}"


CONTAINERS: dict[Any, tuple[str, str, Callable[[Any], Iterable[Any]]]] = {
    list: ("[", "]", list.__iter__),
    tuple: ("(", ")", tuple.__iter__),
    dict: ("{", "}", lambda value: map(_Pair, dict.items(value))),
    set: ("{", "}", set.__iter__),
    frozenset: ("{", "}", frozenset.__iter__),
}
