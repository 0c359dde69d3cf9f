"""Encodes task keys for storage: the name of a key's group is stored once and replaced in the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, LiteralString

import dask.utils
from distributed.utils import key_split_group

from observatory.store.texts import are_printable, clean_name
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_key

key_split: Callable[[Any], str] = getattr(dask.utils.key_split, "__wrapped__", dask.utils.key_split)
"""Dask's, without its cache of 100,000 keys: that took 25 MB of each process"""
CACHED_KEYS = 20_000
"""keys whose prefix and group are cached, as a task's records arrive together"""
GROUP_PLACEHOLDER = "\x01"
"""replaces the group's name; a cleaned key (wire.records.clean_key) has no control characters"""

GROUP_ID_OF_KEY: LiteralString = (
    "(SELECT id FROM task_group WHERE cluster_id = %(cluster)s AND name = %(group)s)"
)
KEY_CONDITION: LiteralString = f"group_id = {GROUP_ID_OF_KEY} AND key_rest = %(rest)s"
"""SQL condition for the rows of one task; needs `key_parameters`"""


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


@lru_cache(CACHED_KEYS)
def split_key(key: str) -> tuple[str, str]:
    """Return (prefix, group) as Dask splits a key, cleaned for storage."""
    try:
        prefix, group = key_split(key), key_split_group(key)
    except (IndexError, ValueError, TypeError):
        return "Other", "Other"
    return clean_key(str(prefix)) or "Other", clean_key(str(group))


def key_parameters(key: str) -> dict[str, str]:
    """Return the parameters of KEY_CONDITION and GROUP_ID_OF_KEY."""
    group = clean_name(split_key(key)[1])
    return {"group": group, "rest": encode_keys([clean_key(key)], [group])[0]}
