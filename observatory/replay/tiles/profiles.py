"""Rows of profiles → bins: how often each stack was seen of whom and in what. Nothing is sampled away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.replay.tiles.bins import Integers
from observatory.replay.tiles.levels import Place
from observatory.wire.blocks import Column, encode, number_column, text_column

FINEST = 32
"""bins of a tile: a flame graph sums over its window, which is a tile long or two"""
MOST_ROWS = 20_000
"""of a tile, while it has more bins than one"""


@dataclass(frozen=True, slots=True)
class Profile:
    """How often each stack was seen in each bin; sorted, each combination once.

    `time` (microseconds) is the newest of what was summed, `worker` -1 the scheduler, `prefix` 0 none.
    """

    time: Integers
    worker: Integers
    prefix: Integers
    source: Integers
    stack: Integers
    count: Integers
    bins: int = FINEST
    """of the tile"""


WHOLE = {
    "worker": ("i32", "<i4"),
    "prefix": ("u32", "<u4"),
    "source": ("u8", "u1"),
    "stack": ("u32", "<u4"),
    "count": ("u32", "<u4"),
}
"""columns of whole numbers: their types in a block and in numpy"""
LARGEST_COUNT = 2**32 - 1


def sum_profiles(parts: Sequence[Profile], place: Place) -> Profile:
    """The rows of `parts` in the finest bins of the tile at `place` that leave it at most MOST_ROWS.

    A tile made of tiles is the same as one made of rows: where the rows of a tile are few enough in so many
    bins, those of each child are in half as many. A count ends at LARGEST_COUNT.
    """
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0, np.int64)])
        for name in ("time", *WHOLE)
    }
    found = _summed(Profile(**columns, bins=min([FINEST, *(part.bins for part in parts)])), place)
    while found.bins > 1 and len(found.count) > MOST_ROWS:
        found = _summed(replace(found, bins=found.bins // 2), place)
    return found


def _summed(profile: Profile, place: Place) -> Profile:
    if not len(profile.count):
        return profile
    bins = (profile.time - place.start) * profile.bins // place.width
    keys = (bins, profile.worker, profile.prefix, profile.source, profile.stack)
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    changes = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    firsts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    _, worker, prefix, source, stack = (key[firsts] for key in sorted_keys)
    time = np.maximum.reduceat(profile.time[order], firsts)
    count = np.minimum(np.add.reduceat(profile.count[order], firsts), LARGEST_COUNT)
    return Profile(time, worker, prefix, source, stack, count, profile.bins)


def stack_block(stacks: Sequence[tuple[int, str]]) -> bytes:
    """`stacks` as store.stacks.frames_of gives them."""
    columns = [
        number_column("id", "u32", [stack for stack, _ in stacks]),
        text_column("frames", [frames for _, frames in stacks]),
    ]
    return encode("stack", len(stacks), columns)


def profile_block(profile: Profile, place: Place) -> bytes:
    columns = [Column("time", "f64", profile.time / 1e6)]
    columns += [
        Column(name, type, getattr(profile, name).astype(dtype)) for name, (type, dtype) in WHOLE.items()
    ]
    meta = {"level": place.level, "index": place.index, "bins": profile.bins}
    return encode("profile", len(profile.count), columns, meta)
