"""How a task's key is stored: most of it is the name of its group, which is stored once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import LiteralString

from dask.utils import key_split
from distributed.utils import key_split_group

from observatory.store.texts import clean_name
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_key

CACHED_KEYS = 100_000
"""keys whose names are remembered: a task's records come together"""
GROUP_PLACEHOLDER = "\x01"
"""stands for the group's name; a cleaned key (wire.records.clean_key) has no control characters of its own"""

GROUP_ID_OF_KEY: LiteralString = (
    "(SELECT id FROM task_group WHERE cluster_id = %(cluster)s AND name = %(group)s)"
)
KEY_CONDITION: LiteralString = f"group_id = {GROUP_ID_OF_KEY} AND key_rest = %(rest)s"
"""the rows of one task"""


def clean_keys(keys: Sequence[str]) -> Sequence[str]:
    """Each key cleaned; where all of them are clean already that is seen at once."""
    if "".join(keys).isprintable() and max(map(len, keys), default=0) <= MAXIMUM_KEY_LENGTH:
        return keys
    return [clean_key(key) for key in keys]


def encode_keys(keys: Iterable[str], groups: Iterable[str]) -> list[str]:
    """Each key, a cleaned one, with the first occurrence of its group replaced by U+0001."""
    # no key holds U+0001, so that a key of the group "" stays as it is
    return [
        key.replace(group or GROUP_PLACEHOLDER, GROUP_PLACEHOLDER, 1)
        for key, group in zip(keys, groups, strict=True)
    ]


def decode_key(rest: str, group: str) -> str:
    """The key that `encode_keys` made `rest` of."""
    return rest.replace(GROUP_PLACEHOLDER, group, 1)


@lru_cache(CACHED_KEYS)
def split_key(key: str) -> tuple[str, str]:
    """(prefix, group) as Dask splits a key; texts that can be stored."""
    try:
        prefix, group = key_split(key), key_split_group(key)
    except (IndexError, ValueError, TypeError):
        return "Other", "Other"
    return clean_key(str(prefix)) or "Other", clean_key(str(group))


def key_parameters(key: str) -> dict[str, str]:
    """Of a query with OF_KEY or GROUP_OF_KEY in it."""
    group = clean_name(split_key(key)[1])
    return {"group": group, "rest": encode_keys([clean_key(key)], [group])[0]}
