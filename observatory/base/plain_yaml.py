"""Checks YAML of others before it is loaded: plain data of a bounded size, without aliases."""

from __future__ import annotations

import yaml

MAX_SIZE = 2**20
MAX_DEPTH = 20
MAX_EVENTS = 50_000
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


class NotPlain(ValueError):
    """The YAML isn't accepted; the message says why. `line` counts from 1."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def check_plain(text: str) -> None:
    """Refuses aliases (which can expand without limit), types, and deep or large documents before loading.

    Raises NotPlain, and yaml.YAMLError for what is no YAML.
    """
    if len(text.encode(errors="replace")) > MAX_SIZE:
        raise NotPlain(f"The file is larger than {MAX_SIZE // 2**20} MiB.")
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise NotPlain("The YAML has an alias (*). Write out its content.", line)
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in PLAIN:
            raise NotPlain(f"The YAML has the type {str(tag)[:200]!r}. Only plain data is accepted.", line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or count > MAX_EVENTS:
            raise NotPlain("The YAML is nested too deeply, or is too large.", line)
