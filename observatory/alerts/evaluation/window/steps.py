"""Step functions of many groups in two flat arrays, so that numpy handles hundreds of them in a few calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BITS = 43
"""bits of a key that encode the time"""
HALF = 1 << (BITS - 1)
"""microseconds, 50 days: the longest distance of a time from the start of the window"""
SECOND = 1_000_000


def keys_of(groups: Array | int, times: Array | int, start: int) -> Integers:
    """Integers that sort by (group, time). Times are microseconds, less than HALF away from `start`."""
    return np.asarray((np.asarray(groups, np.int64) << BITS) + (times - (start - HALF)))


def groups_of(keys: Integers) -> Integers:
    return keys >> BITS


def times_of(keys: Integers, start: int) -> Integers:
    return (keys & ((1 << BITS) - 1)) + (start - HALF)


@dataclass(frozen=True, slots=True)
class Steps:
    """The value of each group from the time of a key up to the group's next key.

    Each group has a key at the start of the window.
    """

    keys: Integers
    """sorted and unique"""
    values: Array

    def at(self, keys: Integers) -> Array:
        """The values at keys of existing groups, at or after the start of the window."""
        return self.values[np.searchsorted(self.keys, keys, side="right") - 1]

    def of(self, group: int) -> Steps:
        first, last = np.searchsorted(self.keys, [group << BITS, (group + 1) << BITS])
        return Steps(self.keys[first:last] - (group << BITS), self.values[first:last])

    def regrouped(self, groups: Sequence[int]) -> Steps:
        """Steps whose groups 0, 1, … are the given groups of these steps; nan for -1."""
        if list(groups) == list(range(len(groups))) and groups_of(self.keys[-1:]).tolist() == groups[-1:]:
            return self
        parts = [self.of(group) if group >= 0 else NO_VALUE for group in groups]
        to = np.repeat(np.arange(len(parts), dtype=np.int64) << BITS, [len(part.keys) for part in parts])
        keys = np.concatenate([NO_VALUE.keys[:0], *(part.keys for part in parts)])
        return Steps(keys + to, np.concatenate([NO_VALUE.values[:0], *(part.values for part in parts)]))


NO_VALUE = Steps(np.array([HALF], np.int64), np.array([np.nan]))
"""nan, for one group"""


def merged_keys(*keys: Integers) -> Integers:
    """The union of the keys, sorted and unique."""
    every = np.sort(np.concatenate(keys), kind="stable")
    return every[np.flatnonzero(np.diff(every, prepend=-1))]
