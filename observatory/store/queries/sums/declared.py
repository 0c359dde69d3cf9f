"""All sum layers by name; a new one is a module of this folder and a line here."""

from __future__ import annotations

from observatory.store.queries.sums.error_sums import ERROR_SUMS
from observatory.store.queries.sums.group_sums import GROUP_SUMS
from observatory.store.queries.sums.log_sums import LOG_SUMS
from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.sums.prefix_transfer_sums import PREFIX_TRANSFER_SUMS
from observatory.store.queries.sums.state_sums import STATE_SUMS
from observatory.store.queries.sums.steal_sums import STEAL_SUMS
from observatory.store.queries.sums.sum_layer import SumLayer
from observatory.store.queries.sums.transfer_sums import TRANSFER_SUMS
from observatory.store.queries.sums.worker_sums import WORKER_SUMS

SUM_LAYERS: dict[str, SumLayer] = {
    layer.name: layer
    for layer in (
        PREFIX_SUMS,
        GROUP_SUMS,
        WORKER_SUMS,
        ERROR_SUMS,
        TRANSFER_SUMS,
        PREFIX_TRANSFER_SUMS,
        STEAL_SUMS,
        LOG_SUMS,
        STATE_SUMS,
    )
}


def sum_layers_of(kind: str) -> list[str]:
    """Return the names of the layers that are made of records of a kind."""
    return [layer.name for layer in SUM_LAYERS.values() if kind in layer.kinds]
