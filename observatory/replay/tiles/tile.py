"""A tile as it is cached and sent."""

from __future__ import annotations

import gzip
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Encoded blocks, the extent's first. A closed tile doesn't change while the extent's version stays."""

    packed: bytes
    """the blocks, gzipped, as cached and sent"""
    version: int
    closed: bool

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.packed)
