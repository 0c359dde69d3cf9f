"""How a task's key is stored: most of it is the name of its group, which is stored once."""

from __future__ import annotations

GROUP = "\x01"
"""stands for the group's name; a cleaned key (wire.records.clean_key) has no control characters of its own"""


def encode_key(key: str, group: str) -> str:
    """`key`, a cleaned one, with the first occurrence of `group` replaced by U+0001."""
    return key.replace(group, GROUP, 1) if group else key


def decode_key(rest: str, group: str) -> str:
    """The key that `encode_key` made `rest` of."""
    return rest.replace(GROUP, group, 1)
