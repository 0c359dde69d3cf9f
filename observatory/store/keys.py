"""Names, encodes and finds task keys: of any type that Dask allows, each shown as `str` shows it.

The text of a key doesn't tell its type: 1 and "1" are two tasks with one text. Dask names them differently,
and a key is stored as its group and the rest of its text: both are kept apart, and found by their text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, LiteralString

import psycopg

from observatory.store.dask_names import OTHER, group_of, prefix_of
from observatory.store.texts import are_printable, clean_name
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_key, key_text

CACHED_KEYS = 20_000
"""keys whose prefix and group are cached, as a task's records arrive together"""
LONGEST_CACHED = 250
"""characters of such a key; longer ones are hostile"""
GROUP_PLACEHOLDER = "\x01"
"""replaces the group's name; a cleaned key (wire.records.clean_key) has no control characters"""
MAXIMUM_DEPTH = 20
"""of a key of tuples in tuples"""
NO_LITERALS = ("nan", "inf", "-inf")
"""numbers that Python shows, but does not read as literals"""
WRITTEN = re.compile(r"""(?:[^\\]|\\[\\'"nrtxuU])*""")
"""a text with no other escapes than those of Python's `repr`"""


def clean_keys(keys: Sequence[str]) -> Sequence[str]:
    """Clean each key; with a fast path for keys that are all clean."""
    if are_printable(keys) and max(map(len, keys), default=0) <= MAXIMUM_KEY_LENGTH:
        return keys
    return [clean_key(key) for key in keys]


def encode_keys(keys: Iterable[str], groups: Iterable[str]) -> list[str]:
    """Replace the first occurrence of the group in each cleaned key by U+0001."""
    # a cleaned key has no U+0001, so that a key of the group "" stays unchanged
    return [
        key.replace(group or GROUP_PLACEHOLDER, GROUP_PLACEHOLDER, 1)
        for key, group in zip(keys, groups, strict=True)
    ]


def decode_key(rest: str, group: str) -> str:
    """Return the key that `encode_keys` encoded as `rest`."""
    return rest.replace(GROUP_PLACEHOLDER, group, 1)


def split_key(key: str) -> tuple[str, str]:
    """Return (prefix, group) as Dask splits a key that is a text, cleaned for storage."""
    return _split_short_key(key) if len(key) <= LONGEST_CACHED else clean_split(*split_as_dask(key))


@lru_cache(CACHED_KEYS)
def _split_short_key(key: str) -> tuple[str, str]:
    return clean_split(*split_as_dask(key))


def clean_split(prefix: str, group: str) -> tuple[str, str]:
    """Return a (prefix, group) that can be stored."""
    return clean_key(prefix) or OTHER, clean_key(group)


def split_as_dask(key: Any) -> tuple[str, str]:
    """Return (prefix, group) as Dask splits a key of any type; (OTHER, OTHER) for one that it can't split."""
    try:
        return prefix_of(key), group_of(key)
    except (IndexError, ValueError, TypeError):
        return OTHER, OTHER


def name_key(key: Any) -> tuple[str, str, str]:
    """Return (text, prefix, group) of a key of any type, cleaned for storage."""
    return clean_key(key_text(key)), *clean_split(*split_as_dask(key))


def key_of_json(value: Any, depth: int = 0) -> Any:
    """Return the key that JSON has as `value`, as tuples become lists in it; None if it is no valid key."""
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple) and value and depth < MAXIMUM_DEPTH:
        parts = tuple(key_of_json(part, depth + 1) for part in value)
        return None if None in parts else parts
    return None


def read_literal(text: str) -> Any:
    """Return the key that Python's `repr` wrote as `text`; None if Dask allows no key of its type."""
    if len(text) > MAXIMUM_KEY_LENGTH or not WRITTEN.fullmatch(text):
        return None
    try:
        key = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return key if _is_key(key) else None


def _is_key(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_key, value))
    return isinstance(value, str | bytes | int | float)


def groups_of_text(text: str) -> list[str]:
    """Return the names of the groups that a key with this text can be of, as they are stored."""
    # Dask splits some texts at white space, which is no longer there where a key was cleaned
    groups = [split_key(text)[1], clean_split(*split_as_dask(text.replace("\ufffd", "\n")))[1]]
    key = float(text) if text in NO_LITERALS else read_literal(text)
    if key is not None and key_text(key) == text:
        groups.append(clean_split(*split_as_dask(key))[1])
    return list(dict.fromkeys(map(clean_name, groups)))


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """The tasks of a cluster whose key has one text, as (group, rest of the key): nearly always one."""

    ids: tuple[tuple[int, str], ...]

    @property
    def parameters(self) -> dict[str, int | str]:
        """The parameters of `condition`."""
        return {
            name: value
            for place, (group, rest) in enumerate(self.ids)
            for name, value in ((f"key_group_{place}", group), (f"key_rest_{place}", rest))
        }

    def condition(self, group: LiteralString = "group_id", rest: LiteralString = "key_rest") -> LiteralString:
        """Return the SQL condition for the rows of these tasks, whose key is in these columns."""
        # an equality each, not an array: an index that is a filter of texts is not asked for arrays
        of_each: list[LiteralString] = [
            f"{group} = %(key_group_{place})s AND {rest} = %(key_rest_{place})s"
            for place in range(len(self.ids))
        ]
        return f"({' OR '.join(of_each) or 'false'})"


def find_keys(connection: psycopg.Connection, cluster: int, text: str) -> StoredKeys:
    """Find how keys with this text are stored in a cluster, if there are any."""
    # names beyond a limit were stored as OTHER, whatever Dask called the group
    key, groups = clean_key(text), [*groups_of_text(text), OTHER]
    rows = connection.execute(
        "SELECT id, name FROM task_group WHERE cluster_id = %s AND name = ANY(%s) ORDER BY id",
        [cluster, groups],
    )
    return StoredKeys(tuple((id, encode_keys([key], [name])[0]) for id, name in rows))
