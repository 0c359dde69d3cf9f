"""The names by which tiles are cached."""

from __future__ import annotations

from observatory.replay.scope import Scope
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId


def cache_name(layer: Layer, scope: Scope, tile_id: TileId) -> str:
    """Return the name of a cached tile; all scopes share those that lie completely in them."""
    if scope.contains(tile_id):
        return str(layer)
    return f"{layer}{'' if '.' in str(layer) else '.'}@{window_name(scope)}"


def window_name(scope: Scope) -> str:
    """Return the name of a scope's window in those of its tiles."""
    return f"{scope.start}-{scope.stop}"
