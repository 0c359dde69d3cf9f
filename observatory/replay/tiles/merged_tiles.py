"""Tiles of the levels that aren't cached in the database, as they were merged last, in memory.

Merging two tiles of a busy run takes longer than everything else of a request for them.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

from cachetools import LRUCache

MAXIMUM_BYTES = 32 * 2**20


class MergedTiles:
    """The merged tiles that were used last, up to a number of bytes. Safe to share by threads.

    Their keys say all that they depend on: what depends on other records has another key.
    """

    def __init__(self, maximum: int = MAXIMUM_BYTES) -> None:
        self._tiles: LRUCache[Hashable, bytes] = LRUCache(maximum, getsizeof=len)
        self._lock = Lock()

    def get(self, key: Hashable) -> bytes | None:
        with self._lock:
            return self._tiles.get(key)

    def put(self, key: Hashable, tile: bytes) -> None:
        """Keep a tile, unless it is larger than all that may be kept."""
        if len(tile) <= self._tiles.maxsize:
            with self._lock:
                self._tiles[key] = tile
