"""Step functions of many subjects in two flat arrays, so that hundreds of them cost a few calls of numpy."""

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
"""of a key that tell the time"""
HALF = 1 << (BITS - 1)
"""microseconds, 50 days: how far a time may be from the window's start"""
SECOND = 1_000_000


def keys_of(groups: Array | int, times: Array | int, start: int) -> Integers:
    """Integers in the order of (group, time); times are microseconds, and less than HALF from `start`."""
    return np.asarray((np.asarray(groups, np.int64) << BITS) + (times - (start - HALF)))


def groups_of(keys: Integers) -> Integers:
    return keys >> BITS


def times_of(keys: Integers, start: int) -> Integers:
    return (keys & ((1 << BITS) - 1)) + (start - HALF)


@dataclass(frozen=True, slots=True)
class Steps:
    """What each of some groups is worth from the time of a key on, until its next key.

    Each group has a key at the window's start.
    """

    keys: Integers
    """sorted, each once"""
    values: Array

    def at(self, keys: Integers) -> Array:
        """The values at keys that aren't before the window's start, of groups that are there."""
        return self.values[np.searchsorted(self.keys, keys, side="right") - 1]

    def of(self, group: int) -> Steps:
        first, last = np.searchsorted(self.keys, [group << BITS, (group + 1) << BITS])
        return Steps(self.keys[first:last] - (group << BITS), self.values[first:last])

    def moved(self, groups: Sequence[int]) -> Steps:
        """Of groups 0, 1, …: what those of the given numbers are here; nan for -1, which none is."""
        if list(groups) == list(range(len(groups))) and groups_of(self.keys[-1:]).tolist() == groups[-1:]:
            return self
        parts = [self.of(group) if group >= 0 else NOTHING for group in groups]
        to = np.repeat(np.arange(len(parts), dtype=np.int64) << BITS, [len(part.keys) for part in parts])
        keys = np.concatenate([NOTHING.keys[:0], *(part.keys for part in parts)])
        return Steps(keys + to, np.concatenate([NOTHING.values[:0], *(part.values for part in parts)]))


NOTHING = Steps(np.array([HALF], np.int64), np.array([np.nan]))
"""of one group"""


def joined(*keys: Integers) -> Integers:
    """All of them, sorted, each once."""
    every = np.sort(np.concatenate(keys), kind="stable")
    return every[np.flatnonzero(np.diff(every, prepend=-1))]
