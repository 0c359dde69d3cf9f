"""Levels of detail: a level's bins are 2^level microseconds wide, its tiles 512 bins, from the epoch on."""

from __future__ import annotations

from dataclasses import dataclass

from observatory.store.times import MAXIMUM_TIME

MINIMUM_LEVEL, MAXIMUM_LEVEL = 10, 36
BINS = 512


@dataclass(frozen=True, slots=True)
class TileId:
    """Level and index of a tile on the time axis. Raises ValueError outside of their ranges."""

    level: int
    index: int

    def __post_init__(self) -> None:
        if not MINIMUM_LEVEL <= self.level <= MAXIMUM_LEVEL:
            raise ValueError(f"level is {self.level}: levels go from {MINIMUM_LEVEL} to {MAXIMUM_LEVEL}")
        if not 0 <= self.index * self.width < MAXIMUM_TIME:
            raise ValueError(f"index {self.index} of level {self.level} lies outside of 1970 to 2100")

    @classmethod
    def at(cls, level: int, time: int) -> TileId:
        """Return the tile of a level that contains a time (microseconds)."""
        return cls(level, time // (BINS << level))

    @property
    def children(self) -> tuple[TileId, TileId]:
        """The two tiles of the level below that cover the same time."""
        return TileId(self.level - 1, 2 * self.index), TileId(self.level - 1, 2 * self.index + 1)

    @property
    def bin_width(self) -> int:
        """microseconds"""
        return 1 << self.level

    @property
    def width(self) -> int:
        """microseconds"""
        return BINS << self.level

    @property
    def start(self) -> int:
        """microseconds since the epoch"""
        return self.index * self.width

    @property
    def stop(self) -> int:
        return self.start + self.width
