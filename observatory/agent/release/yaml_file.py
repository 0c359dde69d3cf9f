"""Reads a YAML file within limits: of plain values, without aliases and without duplicate keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

MOST_BYTES = 32 * 1024
MOST_LEVELS = 12


class UnreadableError(ValueError):
    """The file can't be read; the message says why, and in which line."""


def read_yaml(path: Path) -> Any:
    """Returns the content of a file. Raises UnreadableError."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"can't be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise UnreadableError(f"is larger than {MOST_BYTES // 1024} KiB")
    try:
        return yaml.load(content.decode(), _Loader)
    except UnicodeDecodeError:
        raise UnreadableError("is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UnreadableError(f"{line}{error.problem}") from None
    except (yaml.YAMLError, ValueError):  # ValueError: a date or number that there isn't
        raise UnreadableError("is no valid YAML") from None


class _Loader(yaml.SafeLoader):
    levels = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise self._error("aliases (*) are not allowed")
        if self.levels >= MOST_LEVELS:
            raise self._error(f"more than {MOST_LEVELS} levels")
        self.levels += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.levels -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)

    def _error(self, problem: str) -> yaml.MarkedYAMLError:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
