"""Whether a tile has any records, as far as extent and holes tell."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.replay.scope import Scope
from observatory.replay.tiles.layers import Layer, band_count
from observatory.replay.tiles.levels import TileId
from observatory.store.queries.extents import Extent
from observatory.wire.layers import SPANS


def overlaps(tile_id: TileId, extent: Extent, scope: Scope) -> bool:
    start, stop = scope.clip(tile_id)
    return start < stop and stop / 1e6 > extent.first and start / 1e6 <= extent.last


def exists(layer: Layer, extent: Extent) -> bool:
    """Return whether the cluster has the layer's band; of one band, values of all workers are its series."""
    bands = band_count(extent.workers)
    if layer.is_each and layer.name == SPANS:
        return True
    return bands > 1 if layer.band is None else layer.band < bands


def is_in_hole(tile_id: TileId, holes: Sequence[tuple[float, float]]) -> bool:
    """Return whether retention removed everything in the tile, so that nothing needs to be built."""
    return any(start <= tile_id.start / 1e6 and tile_id.stop / 1e6 <= stop for start, stop in holes)
