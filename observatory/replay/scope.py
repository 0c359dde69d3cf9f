"""What somebody may look at: a cluster, or one window of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from observatory.clusters.models import Cluster
from observatory.replay.tiles.levels import TileId
from observatory.store.times import MAXIMUM_TIME


class Section(StrEnum):
    """What can hold secrets, and is shown through a public link only where the person sharing says so."""

    LOGS = "logs"
    CODE = "code"
    TRACEBACKS = "tracebacks"


ALL_SECTIONS = frozenset(Section)


@dataclass(frozen=True, slots=True)
class Scope:
    """A cluster's window [start, stop), microseconds on its scheduler's clock; all of it by default."""

    cluster: Cluster
    start: int = 0
    stop: int = MAXIMUM_TIME
    sections: frozenset[Section] = ALL_SECTIONS
    is_public: bool = False
    """nothing of the cluster beyond the window, no names of people, no addresses of ours"""
    name: str = ""
    """empty: the cluster's"""
    tasks: int | None = None
    errors: int | None = None
    """of a window: how many there are in it, as far as they were counted"""

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == MAXIMUM_TIME

    @property
    def window(self) -> tuple[int, int]:
        return self.start, self.stop

    def clip_seconds(self, first: float, last: float) -> tuple[float, float]:
        """The part of a stretch (seconds) in the window; it ends before its start where there is none."""
        return max(first, self.start / 1e6), min(last, self.stop / 1e6)

    def contains(self, tile_id: TileId) -> bool:
        """Whether all of the tile lies in the window."""
        return self.start <= tile_id.start and tile_id.stop <= self.stop

    def clip(self, tile_id: TileId) -> tuple[int, int]:
        """The part of the tile that lies in the window; it may be empty."""
        start = max(self.start, tile_id.start)
        return start, max(start, min(self.stop, tile_id.stop))
