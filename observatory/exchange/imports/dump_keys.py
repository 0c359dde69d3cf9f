"""Reads the keys of tasks in Dask's dumps, which write one key in several ways.

Of a task ('x-1', 0): a list, where a key is a value; the list as Python shows it, where a key is a name in an
object; the tuple as Python shows it, in <TaskState ('x-1', 0) memory>.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from observatory.exchange.imports.agent_rows import as_mapping, as_text
from observatory.store.keys import key_of_json, read_literal

SHOWN = re.compile(r"<\w+ (.+) \S+>", re.DOTALL)
"""how Dask shows a task: <TaskState 'inc-1' memory>"""


def saved_key(value: Any) -> Any:
    """The key that was saved as JSON, msgpack or YAML; None if it is none."""
    key = key_of_json(value)
    if isinstance(key, str) and key.startswith("b"):  # of bytes Dask saves how Python shows them
        read = read_literal(key)
        return read if isinstance(read, bytes) else key
    return key


class DumpKeys:
    """The keys of a dump's tasks, by how the dump writes them."""

    def __init__(self) -> None:
        self._named: dict[Any, Any] = {}
        self._shown: dict[str, Any] = {}

    def read(self, tasks: Any) -> dict[Any, Mapping[Any, Any]]:
        """The tasks of an object of tasks, by key; tasks without a valid key are left out."""
        found: dict[Any, Mapping[Any, Any]] = {}
        for name, value in as_mapping(tasks).items():
            task = as_mapping(value)
            key = saved_key(task.get("key", name))
            if key is not None:
                found[key] = task
                self._named[name] = self._shown[repr(key)] = key
        return found

    def named(self, name: Any) -> Any:
        """The key of a name in an object."""
        return self._named.get(name, name)

    def shown(self, value: Any) -> Any:
        """The key of a task that Python shows; None if it is no task."""
        found = SHOWN.fullmatch(as_text(value))
        if found is None:
            return None
        key = self._shown.get(found[1])
        return read_literal(found[1]) if key is None else key
