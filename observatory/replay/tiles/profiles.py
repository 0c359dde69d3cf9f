"""Bins profile samples: counts of each stack by worker, prefix and source. All samples are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from observatory.replay.tiles.bins import Integers, first_places, sort_order
from observatory.replay.tiles.levels import TileId
from observatory.store.blocks.timeline_blocks import encode_block, encode_rows
from observatory.wire.timeline_blocks import PROFILE_ROWS, STACK

MAXIMUM_BINS = 32
"""bins of a tile; few suffice, as a flame graph sums over one or two tiles"""
MAXIMUM_ROWS = 20_000
"""rows of a tile; with more rows it has fewer bins, at least one"""


@dataclass(frozen=True, slots=True)
class ProfileBins:
    """Counts of each stack by bin; sorted and unique.

    `time` (microseconds) is the newest sample's, worker -1 is the scheduler, prefix 0 is none.
    """

    time: Integers
    worker: Integers
    prefix: Integers
    source: Integers
    stack: Integers
    count: Integers
    bins: int = MAXIMUM_BINS
    """number of bins of the tile"""


INTEGER_COLUMNS = ("worker", "prefix", "source", "stack", "count")
LARGEST_COUNT = 2**32 - 1


def merge_profile_bins(parts: Sequence[ProfileBins], tile_id: TileId) -> ProfileBins:
    """Add up rows in the narrowest bins of the tile that need at most MAXIMUM_ROWS rows.

    Merging child tiles gives the same result as rows do: if a tile's rows fit with some number of bins, each
    child's fit with half of it. Counts are capped at LARGEST_COUNT.
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
    order = sort_order(*keys)
    sorted_keys = [key[order] for key in keys]
    firsts = first_places(*sorted_keys)
    _, worker, prefix, source, stack = (key[firsts] for key in sorted_keys)
    time = np.maximum.reduceat(profile.time[order], firsts)
    count = np.minimum(np.add.reduceat(profile.count[order], firsts), LARGEST_COUNT)
    return ProfileBins(time, worker, prefix, source, stack, count, profile.bins)


def stack_block(stacks: Sequence[tuple[int, str]]) -> bytes:
    """Encode the rows of store.queries.stacks.stack_frames."""
    return encode_rows(STACK, stacks)


def profile_block(profile: ProfileBins, tile_id: TileId) -> bytes:
    """Encode the profile of a tile."""
    columns = {"time": profile.time / 1e6, **{name: getattr(profile, name) for name in INTEGER_COLUMNS}}
    meta = {"level": tile_id.level, "index": tile_id.index, "bins": profile.bins}
    return encode_block(PROFILE_ROWS, columns, meta)
