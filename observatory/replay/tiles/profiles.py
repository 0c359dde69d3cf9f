"""Rows of profiles → bins: how often each stack was seen of whom and in what. Nothing is sampled away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.replay.tiles.bins import Integers
from observatory.replay.tiles.levels import TileId
from observatory.wire.blocks import Column, encode, number_column, text_column

MAXIMUM_BINS = 32
"""bins of a tile: a flame graph sums over its window, which is a tile long or two"""
MAXIMUM_ROWS = 20_000
"""of a tile, while it has more bins than one"""


@dataclass(frozen=True, slots=True)
class ProfileBins:
    """How often each stack was seen in each bin; sorted, each combination once.

    `time` (microseconds) is the newest of what was summed, `worker` -1 the scheduler, `prefix` 0 none.
    """

    time: Integers
    worker: Integers
    prefix: Integers
    source: Integers
    stack: Integers
    count: Integers
    bins: int = MAXIMUM_BINS
    """of the tile"""


INTEGER_COLUMNS = {
    "worker": ("i32", "<i4"),
    "prefix": ("u32", "<u4"),
    "source": ("u8", "u1"),
    "stack": ("u32", "<u4"),
    "count": ("u32", "<u4"),
}
"""columns of whole numbers: their types in a block and in numpy"""
LARGEST_COUNT = 2**32 - 1


def merge_profile_bins(parts: Sequence[ProfileBins], tile_id: TileId) -> ProfileBins:
    """The rows of `parts` in the finest bins of the tile at `tile_id` that leave it at most MOST_ROWS.

    A tile made of tiles is the same as one made of rows: where the rows of a tile are few enough in so many
    bins, those of each child are in half as many. A count ends at LARGEST_COUNT.
    """
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0, np.int64)])
        for name in ("time", *INTEGER_COLUMNS)
    }
    found = _summed(ProfileBins(**columns, bins=min([MAXIMUM_BINS, *(part.bins for part in parts)])), tile_id)
    while found.bins > 1 and len(found.count) > MAXIMUM_ROWS:
        found = _summed(replace(found, bins=found.bins // 2), tile_id)
    return found


def _summed(profile: ProfileBins, tile_id: TileId) -> ProfileBins:
    if not len(profile.count):
        return profile
    bins = (profile.time - tile_id.start) * profile.bins // tile_id.width
    keys = (bins, profile.worker, profile.prefix, profile.source, profile.stack)
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    changes = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    firsts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    _, worker, prefix, source, stack = (key[firsts] for key in sorted_keys)
    time = np.maximum.reduceat(profile.time[order], firsts)
    count = np.minimum(np.add.reduceat(profile.count[order], firsts), LARGEST_COUNT)
    return ProfileBins(time, worker, prefix, source, stack, count, profile.bins)


def stack_block(stacks: Sequence[tuple[int, str]]) -> bytes:
    """`stacks` as store.stacks.frames_of gives them."""
    columns = [
        number_column("id", "u32", [stack for stack, _ in stacks]),
        text_column("frames", [frames for _, frames in stacks]),
    ]
    return encode("stack", len(stacks), columns)


def profile_block(profile: ProfileBins, tile_id: TileId) -> bytes:
    columns = [Column("time", "f64", profile.time / 1e6)]
    columns += [
        Column(name, type, getattr(profile, name).astype(dtype))
        for name, (type, dtype) in INTEGER_COLUMNS.items()
    ]
    meta = {"level": tile_id.level, "index": tile_id.index, "bins": profile.bins}
    return encode("profile", len(profile.count), columns, meta)
