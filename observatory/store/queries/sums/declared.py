"""All sum layers by name; a new one is a module of this folder and a line here."""

from __future__ import annotations

from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.sums.sum_layer import SumLayer
from observatory.store.queries.sums.transfer_sums import TRANSFER_SUMS

SUM_LAYERS: dict[str, SumLayer] = {layer.name: layer for layer in (PREFIX_SUMS, TRANSFER_SUMS)}


def sum_layers_of(kind: str) -> list[str]:
    """Return the names of the layers that are made of records of a kind."""
    return [layer.name for layer in SUM_LAYERS.values() if kind in layer.kinds]
