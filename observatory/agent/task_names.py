"""The names that Dask gives a task by its key."""

from __future__ import annotations

from typing import Any

from dask.utils import key_split
from distributed.utils import key_split_group

OTHER = "Other"
"""What Dask calls prefix and group of a key without a name."""


def split_key(key: Any) -> tuple[str, str]:
    """The (prefix, group) of a key of any type, as the scheduler names its TaskState.prefix and group.

    Of a group's name it gives the prefix, too. Keys that Dask can't split are refused by the scheduler.
    """
    try:
        return str(key_split(key)), str(key_split_group(key))
    except Exception:  # never disturb the scheduler
        return OTHER, OTHER
