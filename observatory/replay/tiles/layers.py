"""Layers of tiles, and their bands of workers (wire/layers.py). Sum layers are not sent to pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.wire.layers import (
    ALL,
    BAND,
    EACH,
    EVENTS,
    LAYERS,
    OF_EACH,
    OF_WORKERS,
    PREFIXES,
    PROFILE,
    SPANS,
    band_layer,
)

LAYER_NAMES = (SPANS, PREFIXES, EVENTS, PROFILE, *LAYERS)


@dataclass(frozen=True, slots=True)
class Layer:
    """What a tile shows; of a band of workers where the layer has bands."""

    name: str
    band: int | None = 0
    """None: all workers"""
    is_each: bool = False
    """one value of each worker, instead of all of them together"""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the layer of a URL, such as `memory.1`. Raises ValueError."""
        name, dot, part = text.partition(".")
        if name not in LAYER_NAMES:
            raise ValueError(f"layer is {text[:50]!r}: there are {', '.join(LAYER_NAMES)}")
        if not dot:
            return cls(name)
        if name not in OF_WORKERS:
            raise ValueError(f"layer is {text[:50]!r}: {name} has no parts")
        if part == ALL and name in LAYERS:
            return cls(name, None)
        if part == EACH and name in OF_EACH:
            return cls(name, None, is_each=True)
        if not (part.isascii() and part.isdecimal() and len(part) < 7 and part[0] != "0"):
            raise ValueError(f"layer is {text[:50]!r}: a part of {name} is a number, from 1 on")
        return cls(name, int(part))

    @property
    def is_sum(self) -> bool:
        return self.name in SUM_LAYERS

    def __str__(self) -> str:
        if self.is_each:
            return f"{self.name}.{EACH}"
        return f"{self.name}.{ALL}" if self.band is None else band_layer(self.name, self.band)


def built_layers(workers: int) -> list[Layer]:
    """Return the layers that are built ahead, of a cluster with so many workers."""
    return [*layers_for(workers), *map(Layer, SUM_LAYERS)]


def layers_for(workers: int) -> list[Layer]:
    """Return the layers of pages, of a cluster with so many workers."""
    bands = band_count(workers)
    found = [*(Layer(name) for name in LAYER_NAMES), Layer(SPANS, None, is_each=True)]
    if bands > 1:
        found += [Layer(name, band) for name in OF_WORKERS for band in range(1, bands)]
        found += [Layer(name, None) for name in OF_WORKERS if name in LAYERS]
        found += [Layer(name, None, is_each=True) for name in OF_EACH if name in LAYERS]
    return found


def band_count(workers: int) -> int:
    """Return the number of bands of so many workers."""
    return max(1, -(-workers // BAND))
